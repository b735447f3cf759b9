// The public face of `builtin`: the agent's own tools as one source, what they need, and how their calls look.

export {
  type AskAnswer,
  type AskOption,
  type BuiltinPorts,
  type BuiltinPresentation,
  type ClientFiles,
  type PlanEntry,
  presentationOf,
  type Terminal,
} from "./ports.js";
export { commandEnvironment } from "./run-command.js";
export { type BuiltinOptions, type BuiltinSource, builtinSource, type TextFile } from "./source.js";
export { BUILTIN_NAMES, type BuiltinName } from "./tool.js";
export { unifiedDiff } from "./unified-diff.js";
