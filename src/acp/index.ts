// The door of the ACP room. Nothing here loads the SDK until `createAgent` is asked for through `loadAgent`.
import type * as agent from "./agent.js";
import type * as questions from "./client-questions.js";

export {
  HostAccess,
  type LoadOptions,
  type Notify,
  type OpenedSession,
  type SessionAccess,
  type SessionHandle,
  type SharedAccess,
  type TellAll,
} from "./access.js";
export type { PromisedSession } from "./agent.js";
export { abilitiesOf, type SetupCommand } from "./capabilities.js";
export type { ClientQuestions } from "./client-questions.js";
export { readAnswer, toElicitation } from "./elicitation.js";
export { type ClientServers, readClientServers } from "./from-client.js";
export { Front, type FrontOptions, type FrontStream, messageSink } from "./front.js";
export { ACP_LIMITS } from "./limits.js";
export { tenonMeta } from "./meta.js";
export type { NumberedRelay, SharedMessage } from "./numbered.js";
export { EARLY_SETTINGS, settingsAnswer } from "./options.js";

export { noticeUpdates, toUpdates } from "./to-client.js";
export { Wire } from "./wire.js";

/** The agent itself, loaded on first use: it brings the SDK with it, which `initialize` must not wait for. */
export async function loadAgent(): Promise<typeof agent> {
  return await import("./agent.js");
}

/** Questions to a client beside the messages of another agent; brings the SDK with it too. */
export async function loadQuestions(): Promise<typeof questions> {
  return await import("./client-questions.js");
}
