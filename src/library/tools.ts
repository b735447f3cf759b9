// `tenon/tools`: tools without a model, for programs that have a loop of their own.
export type { AdaptedTools, AdapterOptions } from "./adapters/adapted-set.js";
export { toAiSdkTools, toLangChainTools, toOpenAiAgentsTools } from "./adapters/frameworks.js";
export { toAnthropicTools, toGeminiTools, toOpenAiTools } from "./adapters/providers.js";
export { type OpenTools, type OpenToolsOptions, openTools } from "./open-tools.js";
