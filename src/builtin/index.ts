// The public face of `builtin`: the agent's own tools as one source, what they need, and how their calls look.

export { commandEnvironment } from "./commands.js";
export type {
  AskAnswer,
  AskOption,
  BuiltinPorts,
  ClientFiles,
  PlanEntry,
  Terminal,
} from "./ports.js";
export {
  type BuiltinPresentation,
  presentationOf,
} from "./ports.js";
export { type BuiltinOptions, type BuiltinSource, builtinSource, type TextFile } from "./source.js";
export { BUILTIN_NAMES, type BuiltinName } from "./tool.js";
