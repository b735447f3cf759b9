// The door of the models room.
export { aiSdkModel } from "./ai-sdk.js";
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
export { loadModel, resolveModelId } from "./providers.js";
