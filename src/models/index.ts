// The door of the models room.
export type { ModelPrice, ThinkingLevel } from "./abilities.js";
export { type CompiledTools, compileSchema, compileTools } from "./dialect/compile.js";
export { unknownOptions } from "./dialect/tool-options.js";
export type {
  DialectName,
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
export { type AiSdkOptions, aiSdkModel } from "./providers/ai-sdk.js";
export { type EmbeddingModel, type EmbeddingSettings, embeddingModel } from "./providers/embeddings.js";
export { type AvailableModel, ModelLists } from "./providers/lists.js";
export {
  type AvailableModels,
  availableModels,
  knownAbilities,
  lazyModel,
  loadModel,
  type ModelSettings,
  OFFLINE_MODEL_ID,
  PROVIDERS,
  resolveModelId,
} from "./providers/providers.js";
