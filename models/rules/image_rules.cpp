// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "models/rules/internal/reasons.hpp"
#include "models/rules/plan_rules.hpp"

namespace foretrain {
namespace {

constexpr std::string_view images_path = "training.images.per_sequence";

void check_tower_parts(const Job& job, Reasons& reasons) {
  const FineTuning& tuning = job.fine_tuning;
  const auto named = [&](ModelPart part) { return tuning.trained && tuning.trained->has(part); };
  if (!named(ModelPart::vision) && !named(ModelPart::projector)) return;
  if (!job.training.images.any())
    break_rule(reasons, "images-where-towers-learn", "fine_tuning.trained",
               "names a vision tower or its projector, but no images are stated",
               "training.images.per_sequence: 1, or parts of the language model alone");
  else if (tuning.frozen_layers > 0)
    break_rule(reasons, "nothing-below-frozen-layers", "fine_tuning.frozen_layers",
               "the vision tower or its projector is trained, and its gradient goes through all "
               "layers",
               "fine_tuning.trained: parts of layers, without vision and projector");
}

}  // namespace

std::vector<Infeasible> broken_image_rules(const Job& job) {
  Reasons reasons;
  check_tower_parts(job, reasons);
  const Images& images = job.training.images;
  if (!images.any()) return reasons;
  if (!job.model.vision) {
    break_rule(reasons, "images-have-a-tower", images_path,
               fmt::format("{} has no vision tower that could read images", job.model.name),
               "leave training.images out, or write model.vision");
    return reasons;
  }
  const int tokens = job.image_tokens();
  if (tokens == 0) {
    break_rule(reasons, "images-have-tokens", images_path,
               fmt::format("the images of {} have no fixed size", job.model.name),
               "training.images.tokens: patches of an image / vision.merge squared");
    return reasons;
  }
  if (images.per_sequence * tokens > job.training.sequence)
    break_rule(reasons, image_tokens_rule, "training.sequence",
               fmt::format("{:g} images of {} tokens are longer than a sequence of {} tokens, "
                           "which they are part of",
                           images.per_sequence, tokens, job.training.sequence),
               fmt::format("training.sequence: at least {:.0f}", images.per_sequence * tokens));
  return reasons;
}

void refuse_images(const Job& job, Reasons& reasons) {
  if (job.has_tower() && job.parallel.single_process())
    refuse(reasons, "parallel.processes",
           "vision towers under torch.nn.DataParallel are not modelled",
           "parallel.processes: per-gpu");
}

}  // namespace foretrain
