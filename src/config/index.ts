// The door of the configuration room.

export {
  embeddingEnvironment,
  LOCK_NAME,
  notifyTargets,
  providerEnvironment,
  writeToolsLock,
} from "./collect-layers.js";
export {
  addServer,
  type ConfigFile,
  type Edited,
  removeServer,
  setConfigValues,
  setServerEnabled,
  setValue,
} from "./edit.js";
export { readyServers, whyNotReady } from "./effective.js";
export { type ImportAction, type PlannedFile, type PlannedServer, planImport } from "./foreign/plan.js";
export { readImports } from "./foreign/read.js";
export { parseDocument } from "./layers/document.js";
export {
  IMPORT_NAMES,
  type ImportName,
  type NotifyTarget,
  type ProviderName,
  type RemoteEntry,
  SANDBOX_MODES,
  type SandboxMode,
  type StdioEntry,
} from "./layers/entry.js";
export { possiblePaths, projectFiles, tenonPaths } from "./layers/paths.js";
export { unsetVariables } from "./layers/read-entry.js";
export { type Place, type Problem, placeText, problemText } from "./layers/read-layer.js";
export {
  type EffectiveConfig,
  type EffectiveServer,
  isEffectiveConfig,
  loadConfig,
  type ReadyServer,
} from "./load-config.js";
export { DiskGrantStore, grantAccount, grantPerson } from "./logins/grant-store.js";
export type { KeyKeeper, VaultStatus } from "./logins/vault.js";
export { hasSecretWords, maskEntry, type SecretWay, secretLiterals } from "./secrets/mask.js";
export { type ResolveSecret, sharedSecrets } from "./secrets/secrets.js";
export { checkGivenEntry, type GivenEntry, placeOf, readGivenServers } from "./servers/given.js";
export { type ServerSandbox, type ServerSettings, sourceSettings, stricterMode } from "./servers/spec.js";
export { ownSpelling, remoteProblem, type TypedServer, typedEntry, typedServer } from "./servers/typed.js";
export { commandPath, questionLines, questionsByFile, type TrustQuestion } from "./trust/project.js";
export { type TrustRecord, TrustStore } from "./trust/store.js";
export { type ConfigWatch, SharedConfigs, type WatchRequest, watchConfig } from "./watch-config.js";
