// What a session is made from.
import type { SessionId } from "../base/id.js";
import type { World } from "../base/ports/world.js";
import type { BuiltinName } from "../builtin/index.js";
import type { EffectiveConfig, ServerSettings } from "../config/index.js";
import type { GrantStore, ServerCache, ServerLog, ServerPool, ServerSpec } from "../mcp/index.js";
import type { AvailableModels, Model } from "../models/index.js";
import type {
  DecisionStore,
  Embedder,
  FindTools,
  PolicyRule,
  ServerInclude,
  ToolEmbeddings,
  ToolOrigin,
  ToolTransformer,
} from "../tools/index.js";
import type { ConfigurationOptions } from "./configuration.js";
import type { GoingOn } from "./conversation/continuation.js";
import type { GivenPrompt } from "./conversation/system-prompt.js";
import type { JournalEntry } from "./journal/entry.js";
import type { Restored } from "./journal/history.js";
import type { JournalTail } from "./journal/journal.js";
import type { OwnedSession, SessionStore } from "./store/session-store.js";

/** A server entry that cannot be used, with what is wrong with it. */
export interface RejectedServer {
  readonly name: string;
  readonly reason: string;
  readonly origin?: ToolOrigin;
  readonly hint?: string;
  /** Without it a turn is to fail. */
  readonly isRequired?: boolean;
}

/** The servers a client or an embedder gives: always the whole set. */
export interface GivenServers {
  readonly servers: readonly ServerSpec[];
  /** Entries that could not be read: shown as failed servers, never dropped in silence. */
  readonly rejected?: readonly RejectedServer[];
  /** By server name, how its tools come before the model; `always` unless given. */
  readonly includes?: Readonly<Record<string, ServerInclude>>;
  /** Names of servers without which the first turn is to fail. */
  readonly required?: readonly string[];
  /** By server name, what its entry says beside how it is reached; for servers that came as whole entries. */
  readonly settings?: Readonly<Record<string, ServerSettings>>;
}

/** Whose words they are. */
export interface OutputOwner {
  readonly spec: ServerSpec;
  readonly origin: ToolOrigin;
  /** The project's real path, for a project's server. */
  readonly project?: string;
}

/** Neither call throws or waits: a server is never held up by being heard. */
export interface OutputSink {
  stderr(chunk: Uint8Array): void;
  log(entry: ServerLog): void;
}

export interface ServerOutput {
  open(owner: OutputOwner): OutputSink;
}

/** What all sessions of a host share. */
export interface SharedOptions {
  readonly world: World;
  /** The one sessions begin with. */
  readonly model: Model;
  /** Those they may change to; without it the model stays what it is. */
  readonly models?: AvailableModels;
  /** Where journals, kept results, approvals and the memory of tools live. */
  readonly stateDir: string;
  /** Where sessions are stored; in files of `stateDir` unless given. */
  readonly store?: SessionStore;
  /** Where decisions of people outlive a session; in files of `stateDir` unless given. */
  readonly decisions?: DecisionStore;
  /** What is remembered of servers across sessions. */
  readonly cache?: ServerCache;
  /** Keeps the stderr and the log of servers; nothing is kept unless given. */
  readonly serverOutput?: ServerOutput;
  /** Where log-ins to remote servers are kept; without it nobody can log in to one. */
  readonly grants?: GrantStore;
  /** The configuration layers that count beside the client's servers; none unless given. */
  readonly config?: SessionConfig;
  readonly client: { readonly name: string; readonly version: string };
  /** Tenon's own tools to offer; all of them unless given. */
  readonly builtin?: readonly BuiltinName[];
  /** Code that changes tools before the model sees them. */
  readonly transformers?: readonly ToolTransformer[];
  /** Compares tools by meaning too, when they are searched. */
  readonly embedder?: Embedder;
  /** Finds tools in place of Tenon's own search. */
  readonly findTools?: FindTools;
  /** Where caches are kept; in memory only unless given. */
  readonly cacheDir?: string;
  /** What becomes of a question while nobody is attached who could answer it; `decline` unless given. */
  readonly unattended?: "decline" | "wait";
  /** Prompts that may wait while a turn runs; none unless given. */
  readonly maxQueuedPrompts?: number;
  /** What becomes of a turn that was under way when its process ended: ended with the load unless given, or continued. */
  readonly openTurns?: "end" | "continue";
}

export interface NewSession extends Partial<GivenServers> {
  readonly cwd: string;
  /** Further directories that are the session's own. */
  readonly additionalDirectories?: readonly string[];
  /** What the model is to be told. */
  readonly systemPrompt?: GivenPrompt;
  /** Notices for every client that attaches. */
  readonly notices?: readonly string[];
  /** Of the caller's own choice, else one is made: 1 to 128 letters, digits, - and _. One that is in use is refused. */
  readonly id?: string;
  /** What its client finds it by. */
  readonly label?: string;
  /** The environment of the host is that of a client: its journal says so with each prompt, and names no variable. */
  readonly hasClientEnvironment?: boolean;
  /** False: its servers are its own, also those that sessions may share. So what they ask and log is about its calls. */
  readonly sharesServers?: boolean;
  /** Rules of the program around Tenon: they count after those of the configuration. */
  readonly rules?: readonly PolicyRule[];
  /** Prompts are taken as they are: no slash commands, no mentions of files or tools, no instructions file of the project. */
  readonly isPlain?: boolean;
  /** Its id was given out before it could be opened, and its journal has been begun. */
  readonly isPromised?: boolean;
}

export interface SessionOptions extends SharedOptions, Omit<NewSession, "id" | "isPromised"> {
  readonly id: SessionId;
  /** The servers of all sessions of the host; its own unless given. */
  readonly pool?: ServerPool;
  /** Of all sessions of the host; without it tools are found by words alone. */
  readonly meaning?: { of(config: EffectiveConfig | undefined): ToolEmbeddings | undefined };
  readonly store: SessionStore;
  /** Where its records are written. */
  readonly owned: OwnedSession;
  /** For an id that another process may be opening now: settles once it is this session's. No turn runs before. */
  readonly settled?: Promise<void>;
  readonly servers: readonly ServerSpec[];
  /** A person gave it a title: its first prompt does not. */
  readonly isTitled?: boolean;
  /** For a session that is loaded again: what it goes on from, and where its journal does. */
  readonly history?: StoredHistory;
  /** Called last when it closes: nothing of it is open any more. */
  onClosed?(): Promise<void>;
}

export interface StoredHistory {
  readonly restored: Restored;
  readonly tail: JournalTail;
  /** The numbers of the records that turns begin with. */
  readonly turnStarts: readonly number[];
  /** Of the turn that was open when the session was loaded. */
  readonly openRecords?: readonly JournalEntry[];
  /** What was under way goes on: prompts that wait, and the turn that was open. */
  readonly isContinued: boolean;
  /** What is left of that turn. */
  readonly continuation?: GoingOn;
}

/** What a session's configuration is read from besides its directory and its client. */
export type SessionConfig = Pick<ConfigurationOptions, "commandLine" | "resolveSecret" | "shared">;
