// The door of the configuration room.
export { commandPath } from "./command-path.js";
export { parseDocument } from "./document.js";
export { addServer, type ConfigFile, type Edited, removeServer, setProviderKey, setServerEnabled } from "./edit.js";
export {
  type EffectiveConfig,
  type EffectiveServer,
  isEffectiveConfig,
  type ReadyServer,
  readyServers,
  whyNotReady,
} from "./effective.js";
export { IMPORT_NAMES, type ImportName, type ProviderName, SANDBOX_MODES, type SandboxMode } from "./entry.js";
export { readImports } from "./foreign/imports.js";
export { type ImportAction, type PlannedFile, type PlannedServer, planImport } from "./foreign/plan.js";
export { grantAccount, grantPerson } from "./grants/account.js";
export { DiskGrantStore } from "./grants/grant-store.js";
export type { KeyKeeper, VaultStanding } from "./grants/vault.js";
export { loadConfig } from "./load-config.js";
export { maskEntry } from "./mask.js";
export { possiblePaths, projectFiles } from "./paths.js";
export { type Place, type Problem, placeText, problemText } from "./place.js";
export { providerEnvironment } from "./providers.js";
export { type ServerSandbox, stricterMode } from "./sandbox.js";
export type { SecretWay } from "./secret-literals.js";
export { type ResolveSecret, sharedSecrets } from "./secrets.js";
export { sourceSettings } from "./settings.js";
export type { ConfigRequest } from "./sources.js";
export { tenonPaths } from "./tenon-paths.js";
export { setValue } from "./text-edit.js";
export { LOCK_NAME, writeToolsLock } from "./tools-lock.js";
export { type TrustRecord, TrustStore } from "./trust.js";
export { questionLines, questionsByFile, type TrustQuestion } from "./trust-question.js";
export { type ConfigWatch, watchConfig } from "./watch-config.js";
