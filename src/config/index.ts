// The door of the configuration room.
export { addServer, type ConfigFile, type Edited, removeServer, setServerEnabled } from "./edit.js";
export {
  type EffectiveConfig,
  type EffectiveServer,
  type ReadyServer,
  readyServers,
  whyNotReady,
} from "./effective.js";
export type { ProviderName } from "./entry.js";
export { isToolAllowed } from "./glob.js";
export { loadConfig } from "./load-config.js";
export { maskEntry } from "./mask.js";
export { projectFiles, tenonPaths } from "./paths.js";
export { type Place, type Problem, placeText, problemText } from "./place.js";
export { providerEnvironment } from "./providers.js";
export type { ResolveSecret } from "./secrets.js";
export type { ConfigRequest } from "./sources.js";
export { type TrustRecord, TrustStore } from "./trust.js";
export { questionLines, type TrustQuestion } from "./trust-question.js";
export { type ConfigWatch, watchConfig } from "./watch-config.js";
