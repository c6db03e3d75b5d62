// SPDX-License-Identifier: Apache-2.0
#include "scenarios/sections/vision_keys.hpp"

#include <fmt/format.h>

#include "scenarios/sections/model_keys.hpp"

namespace foretrain {
namespace {

using keys::bind;
using keys::unbound;

constexpr double most_layers = 1e4;

KeyRow size_of_tower(const char* path, const char* help, const char* example,
                     int VisionShape::*member, double most = largest_width) {
  return bind(
      {.path = path, .help = help, .example = example, .required = true, .min = 1, .max = most},
      &LlmShape::vision, member);
}

KeyRow number_or(const char* path, const char* help, const char* example,
                 int VisionShape::*member) {
  const int usual = VisionShape{}.*member;
  return bind({.path = path,
               .help = help,
               .example = example,
               .default_text = std::to_string(usual),
               .min = usual,
               .max = largest_width},
              &LlmShape::vision, member);
}

KeyRow tower_flag(const char* path, const char* help, bool VisionShape::*member) {
  return bind({.path = path, .help = help, .example = "true", .default_text = "false"},
              &LlmShape::vision, member);
}

KeyRows tower_layer_keys() {
  return {
      unbound({.path = "vision",
               .kind = FieldKind::group,
               .help = "A vision tower with its projectors, held and computed where "
                       "training.images states images; its parameters are not among those of the "
                       "language model."}),
      size_of_tower("vision.layers", "Its layers.", "27", &VisionShape::layers, most_layers),
      size_of_tower("vision.hidden", "Their width.", "1152", &VisionShape::hidden),
      size_of_tower("vision.heads", "Query heads.", "16", &VisionShape::heads, most_layers),
      number_or("vision.kv_heads", "Key and value heads; 0: as many.", "8", &VisionShape::kv_heads),
      number_or("vision.head_dim", "Width of a head; 0: vision.hidden / vision.heads.", "72",
                &VisionShape::head_dim),
      size_of_tower("vision.mlp_hidden", "Inner width of its MLPs.", "4304",
                    &VisionShape::mlp_hidden),
      tower_flag("vision.mlp_gated", "Those have three matrices instead of two.",
                 &VisionShape::mlp_gated),
      tower_flag("vision.bias", "Biases on the linear layers of its layers.", &VisionShape::bias),
      bind({.path = "vision.norm",
            .help = "Kind of its norms; a layernorm has a bias.",
            .example = "rmsnorm",
            .default_text = "layernorm"},
           &LlmShape::vision, &VisionShape::norm),
      bind({.path = "vision.norms_per_layer",
            .help = "Norms of one layer.",
            .example = "4",
            .default_text = "2",
            .min = 0,
            .max = 8},
           &LlmShape::vision, &VisionShape::norms_per_layer),
      tower_flag("vision.qk_norm", "RMSNorm on queries and keys of each head (Gemma 4).",
                 &VisionShape::qk_norm),
      tower_flag("vision.first_norm", "A norm before its first layer (Pixtral).",
                 &VisionShape::first_norm),
      tower_flag("vision.final_norm", "A norm behind its last layer (SigLIP).",
                 &VisionShape::final_norm),
      tower_flag("vision.rotary", "Rotary positions.", &VisionShape::rotary),
      number_or("vision.window",
                "Patches that see each other, in windows side by side; 0: all of an image.", "64",
                &VisionShape::window),
      number_or("vision.full_attention_every",
                "With a window: the last layer of every so many sees all patches; 0: none does.",
                "8", &VisionShape::full_attention_every),
  };
}

KeyRows image_keys() {
  return {
      size_of_tower("vision.patch", "Pixels on a side of a patch.", "14", &VisionShape::patch),
      number_or("vision.channels", "Colours of a pixel.", "3", &VisionShape::channels),
      number_or("vision.frames", "Frames of a video in one patch; an image fills all of them.", "2",
                &VisionShape::frames),
      tower_flag("vision.patch_bias", "A bias on the embedding of patches.",
                 &VisionShape::patch_bias),
      number_or("vision.positions", "Rows of its tables of learned positions.", "2304",
                &VisionShape::positions),
      number_or("vision.tokens", "Tokens of an image where all have as many; 0: of no fixed size.",
                "256", &VisionShape::tokens),
  };
}

KeyRows projector_keys() {
  return {
      number_or("vision.merge", "Patches on a side that become one token.", "2",
                &VisionShape::merge),
      tower_flag("vision.pooled",
                 "The projector reads their mean (Gemma); left out, one after another.",
                 &VisionShape::pooled),
      bind({.path = "vision.projector_norm",
            .help = "Norm of patches before the projector.",
            .example = "rmsnorm",
            .default_text = "none"},
           &LlmShape::vision, &VisionShape::projector_norm),
      number_or("vision.merger_hidden",
                "Width of a linear layer before the projector (Pixtral's patch merger); 0: none.",
                "1024", &VisionShape::merger_hidden),
      number_or("vision.projector_hidden",
                "Width between the projector's two linear layers; 0: it is one linear layer.",
                "4608", &VisionShape::projector_hidden),
      tower_flag("vision.projector_bias", "Biases on those.", &VisionShape::projector_bias),
      number_or("vision.inner_projectors",
                "Further projectors, of inner layers' results (DeepStack of Qwen3-VL).", "3",
                &VisionShape::inner_projectors),
  };
}

}  // namespace

KeyRows vision_keys() { return joined_rows({tower_layer_keys(), image_keys(), projector_keys()}); }

void check_vision(const VisionShape& vision, const FieldValues& values, Diagnostics& diagnostics) {
  const auto fault = [&](bool wrong, const char* key, std::string why) {
    if (wrong) diagnostics.add(values.where(key), key, std::move(why));
  };
  if (vision.layers < 1 || vision.hidden < 1 || vision.heads < 1) return;  // told already
  fault(vision.head_dim == 0 && vision.hidden % vision.heads != 0, "vision.heads",
        fmt::format("{} do not divide vision.hidden {}; say vision.head_dim", vision.heads,
                    vision.hidden));
  fault(vision.kv_heads > 0 && vision.heads % vision.kv_heads != 0, "vision.kv_heads",
        fmt::format("{} does not divide the {} query heads", vision.kv_heads, vision.heads));
  fault(vision.full_attention_every > 0 && vision.window == 0, "vision.full_attention_every",
        "has no effect without vision.window; leave it out");
  fault(vision.full_attention_every == 1, "vision.full_attention_every",
        "with 1 every layer sees all patches; leave it and vision.window out");
}

}  // namespace foretrain
