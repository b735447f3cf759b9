// The door of the configuration room.

export {
  addServer,
  type ConfigFile,
  type Edited,
  removeServer,
  setProviderKey,
  setServerEnabled,
  setValue,
} from "./edit.js";
export {
  type EffectiveConfig,
  type EffectiveServer,
  isEffectiveConfig,
  type ReadyServer,
  readyServers,
  whyNotReady,
} from "./effective.js";
export { type ImportAction, type PlannedFile, type PlannedServer, planImport } from "./foreign/plan.js";
export { readImports } from "./foreign/read.js";
export { parseDocument } from "./layers/document.js";
export { IMPORT_NAMES, type ImportName, type ProviderName, SANDBOX_MODES, type SandboxMode } from "./layers/entry.js";
export { type Place, type Problem, placeText, problemText } from "./layers/layer.js";
export { possiblePaths, projectFiles, tenonPaths } from "./layers/paths.js";
export { loadConfig } from "./load-config.js";
export { DiskGrantStore, grantAccount, grantPerson } from "./logins/grant-store.js";
export type { KeyKeeper, VaultStatus } from "./logins/vault.js";
export { providerEnvironment } from "./providers.js";
export { maskEntry, type SecretWay } from "./secrets/mask.js";
export { type ResolveSecret, sharedSecrets } from "./secrets/secrets.js";
export { type ServerSandbox, stricterMode } from "./servers/sandbox.js";
export { sourceSettings } from "./servers/spec.js";
export { LOCK_NAME, writeToolsLock } from "./tools-lock.js";
export { commandPath, questionLines, questionsByFile, type TrustQuestion } from "./trust/question.js";
export { type TrustRecord, TrustStore } from "./trust/store.js";
export { type ConfigWatch, SharedConfigs, type WatchRequest, watchConfig } from "./watch-config.js";
