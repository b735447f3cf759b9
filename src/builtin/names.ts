// The names of the agent's own tools, as models call them: one closed union.

export const BUILTIN_NAMES = [
  "read_file",
  "write_file",
  "edit_file",
  "list_folder",
  "find_files",
  "grep",
  "run_command",
  "command_output",
  "stop_command",
  "fetch_url",
  "update_plan",
  "ask_person",
] as const;

export type BuiltinName = (typeof BUILTIN_NAMES)[number];

export function isBuiltinName(name: string): name is BuiltinName {
  return BUILTIN_NAMES.some((known) => known === name);
}
