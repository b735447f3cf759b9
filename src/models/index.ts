// The door of the models room.
export { type AiSdkOptions, aiSdkModel, type StreamingLanguageModel } from "./ai-sdk.js";
export { lazyModel } from "./lazy.js";
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
export { type LoadOptions, loadModel, type ModelChoice, OFFLINE_MODEL_ID, resolveModelId } from "./providers.js";
