#include "cli/convert.h"

#include <iostream>
#include <memory>

#include "cli/bind.h"
#include "recipes/step/convert.h"

namespace hone {

void add_convert(CLI::App& app) {
  auto step = std::make_shared<ConvertStep>();
  CLI::App* command = app.add_subcommand(
      "convert", "Decode to BF16, merge a LoRA adapter, or change the size of the files"
  );
  bind_step(*command, *step);
  command->footer(examples(
      {"hone convert deepseek-ai/DeepSeek-V3 -o out --to bf16   # block FP8 or NVFP4 decoded",
       "hone convert MODEL -o merged --lora adapter              # W + alpha/r B A, rounded once",
       "hone convert MODEL -o out --max-shard-gb 2               # the same bytes in smaller files"}
  ));
  command->callback([step] {
    run_bound_step(*step, [&step](const StepOutcome& outcome) {
      std::cout << "\nwrote " << step->output << ": "
                << outcome.summary.at("line").get<std::string>() << '\n';
    });
  });
}

}  // namespace hone
