llama3_8b = Trainer.Config(
    model_spec=model_registry("8B", converters=[Float8LinearConverter.Config()]),
    training=TrainingConfig(num_tokens_per_microbatch_per_dp_rank=2 * 8192, max_context_length=8192),
    parallelism=ParallelismConfig(tensor_parallel_degree=2),
    activation_checkpoint=FullAC.Config(),
)
