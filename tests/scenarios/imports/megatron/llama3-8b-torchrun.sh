#!/bin/bash
# The shape of examples/llama in Megatron-LM: arrays, defaults, a condition that can be decided.
export CUDA_DEVICE_MAX_CONNECTIONS=${CUDA_DEVICE_MAX_CONNECTIONS:-1}
SAVE_TO=${1:-"checkpoints/llama3"}
mkdir -p "$(dirname "$SAVE_TO")"
PER_NODE=8
NODES=4
WORLD=$(($PER_NODE * NODES))
TP=2
DTYPE="fp8"
SEQUENCE=8192

LAUNCH_ARGS=(
    --nproc_per_node $PER_NODE
    --nnodes $NODES
    --node_rank ${RANK:-0}   # set by the scheduler
)
MODEL_ARGS=(
    --num-layers 32 --hidden-size 4096 --ffn-hidden-size 14336
    --num-attention-heads 32 --group-query-attention --num-query-groups 8
    --seq-length $SEQUENCE --max-position-embeddings $SEQUENCE
    --position-embedding-type rope --rotary-base 500000
    --normalization RMSNorm --swiglu --disable-bias-linear
    --untie-embeddings-and-output-weights
    --attention-dropout 0.0 --hidden-dropout 0.0
    --tokenizer-type NullTokenizer --vocab-size 128255
)
TRAIN_ARGS=(
    --micro-batch-size 1 --global-batch-size $(( WORLD / TP * 8 ))
    --train-samples 1_953_125
    --lr 0.00015 --bf16 --no-create-attention-mask-in-dataloader
    --use-distributed-optimizer --overlap-grad-reduce --overlap-param-gather
    --tensor-model-parallel-size ${TP} --sequence-parallel
)
PRECISION_ARGS=()
if [[ "$DTYPE" == "fp8" ]]; then
    PRECISION_ARGS+=(
        "--fp8-format hybrid"
        "--fp8-param-gather"
    )
else
    PRECISION_ARGS+=(--no-such-argument)
fi
if [ ! -f pretrain_gpt.py ]; then
    echo "not here"
    exit 1
fi
torchrun ${LAUNCH_ARGS[@]} \
    pretrain_gpt.py \
    ${MODEL_ARGS[@]} \
    ${TRAIN_ARGS[@]} ${PRECISION_ARGS[@]} \
    --save "$SAVE_TO" 2>&1 | tee log.txt
