// The door of the models room.
export type { ModelAbilities, ModelPrice, ThinkingLevel } from "./abilities.js";
export { type AiSdkOptions, aiSdkModel } from "./ai-sdk.js";
export { type AvailableModels, availableModels } from "./available-models.js";
export { compileSchema } from "./dialect/compile.js";
export { compileTools } from "./dialect/compile-tools.js";
export type { DialectName } from "./dialect/dialect.js";
export { lazyModel } from "./lazy.js";
export { type AvailableModel, ModelLists } from "./lists/model-lists.js";
export type {
  Model,
  ModelEvent,
  ModelFinish,
  ModelMessage,
  ModelRequest,
  ModelTool,
  ModelToolCall,
  ModelToolResult,
  ModelUsage,
} from "./model.js";
export { knownAbilities, loadModel, type ModelSettings, resolveModelId } from "./providers.js";
export { PROVIDERS } from "./registry.js";
