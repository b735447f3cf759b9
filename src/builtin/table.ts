// Every built-in tool by its name: one that is missing here does not compile.
import type { BuiltinName } from "./names.js";
import type { BuiltinTool } from "./tool.js";
import { askPerson } from "./tools/ask-person.js";
import { commandOutput } from "./tools/command-output.js";
import { editFile } from "./tools/edit-file.js";
import { fetchUrl } from "./tools/fetch-url.js";
import { findFiles } from "./tools/find-files.js";
import { grep } from "./tools/grep.js";
import { listFolder } from "./tools/list-folder.js";
import { readFile } from "./tools/read-file.js";
import { runCommand } from "./tools/run-command.js";
import { stopCommand } from "./tools/stop-command.js";
import { updatePlan } from "./tools/update-plan.js";
import { writeFile } from "./tools/write-file.js";

export type BuiltinTable = { readonly [Name in BuiltinName]: BuiltinTool<Name> };

export const BUILTIN_TOOLS: BuiltinTable = {
  read_file: readFile,
  write_file: writeFile,
  edit_file: editFile,
  list_folder: listFolder,
  find_files: findFiles,
  grep,
  run_command: runCommand,
  command_output: commandOutput,
  stop_command: stopCommand,
  fetch_url: fetchUrl,
  update_plan: updatePlan,
  ask_person: askPerson,
};
