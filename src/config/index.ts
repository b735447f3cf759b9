// The door of the configuration room.
export { addServer, type ConfigFile, type Edited, removeServer, setProviderKey, setServerEnabled } from "./edit.js";
export {
  type EffectiveConfig,
  type EffectiveServer,
  type ReadyServer,
  readyServers,
  type ToolValues,
  whyNotReady,
} from "./effective.js";
export type { ProviderName } from "./entry.js";
export { loadConfig } from "./load-config.js";
export { maskEntry } from "./mask.js";
export { projectFiles, tenonPaths } from "./paths.js";
export { type Place, type Problem, placeText, problemText } from "./place.js";
export { providerEnvironment } from "./providers.js";
export type { ResolveSecret } from "./secrets.js";
export { sourceSettings } from "./settings.js";
export type { ConfigRequest } from "./sources.js";
export { type TrustRecord, TrustStore } from "./trust.js";
export { questionLines, type TrustQuestion } from "./trust-question.js";
export { type ConfigWatch, watchConfig } from "./watch-config.js";
