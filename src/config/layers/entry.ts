// The shapes of what a configuration file may say, after checking and before interpolation.
import type { IdentityProvider, OAuthSettings } from "../../mcp/index.js";
import type { EmbeddingSettings, ModelSettings, ThinkingLevel } from "../../models/index.js";
import type {
  HintCondition,
  IncludeMode,
  PermissionMode,
  PolicyEffect,
  ToolOrigin,
  ToolShape,
} from "../../tools/index.js";

/** Keys of one type, each of which may be left out. */
type Optional<Key extends string, Value> = { readonly [K in Key]?: Value | undefined };
/** What may be left out may also be undefined, as zod has it. */
type Written<T> = { readonly [K in keyof T]: Partial<Pick<T, K>> extends Pick<T, K> ? T[K] | undefined : T[K] };
type Texts = Readonly<Record<string, string>>;

export type { IncludeMode };

/** From the loosest to the strictest. */
export const SANDBOX_MODES = ["off", "workspace", "read-only"] as const;
export type SandboxMode = (typeof SANDBOX_MODES)[number];

/** A sandbox with what is granted besides. */
export interface SandboxEntry {
  readonly mode: SandboxMode;
  readonly network?: boolean | undefined;
  readonly read?: readonly string[] | undefined;
  readonly write?: readonly string[] | undefined;
}

export type SandboxWritten = SandboxMode | SandboxEntry;

export const PERMISSION_MODES = ["ask", "plan", "auto-edit", "bypass"] as const;
export type { PermissionMode };

export const POLICY_EFFECTS = ["allow", "ask", "deny"] as const;
export const TOOL_ORIGINS = ["user", "project", "client", "builtin", "extra"] as const;

/** A rule of `permissions.rules` as it is written. */
export interface RuleEntry extends Optional<"server" | "tool" | "reason", string> {
  readonly effect: PolicyEffect;
  readonly origin?: readonly ToolOrigin[] | undefined;
  readonly annotations?: Written<HintCondition> | undefined;
  readonly arguments?: readonly ConditionEntry[] | undefined;
}

/** Exactly one of the tests is given. */
interface ConditionEntry extends Optional<"glob" | "prefix" | "under", string> {
  readonly pointer: string;
  readonly equals?: unknown;
  readonly oneOf?: readonly unknown[] | undefined;
}

export interface ToolEntry extends Written<ToolShape>, Optional<"idempotent" | "enabled", boolean> {
  readonly include?: IncludeMode | undefined;
  readonly timeoutMs?: number | undefined;
}

/** Tenon's own keys of a server entry. */
export interface ServerExtras
  extends Optional<"required" | "disabled" | "lazy" | "shared" | "trustAnnotations" | "trustResults", boolean>,
    Optional<"prefix" | "account", string>,
    Optional<"allow" | "deny", readonly string[]> {
  /** The short form of `name` in `tools`, and of `callMs` in `timeouts`. */
  readonly rename?: Texts | undefined;
  readonly timeoutMs?: number | undefined;
  readonly include?: IncludeMode | undefined;
  readonly tools?: Readonly<Record<string, ToolEntry>> | undefined;
  readonly timeouts?: Optional<"connectMs" | "callMs" | "maxCallMs", number> | undefined;
  readonly limits?: Optional<"callsPerMinute" | "callsAtOnce", number> | undefined;
  readonly sandbox?: SandboxWritten | undefined;
}

export const OAUTH_GRANTS = ["authorization_code", "client_credentials", "jwt_bearer", "enterprise"] as const;

/** The identity provider of `"grant": "enterprise"`. */
export type IdentityProviderEntry = Written<IdentityProvider>;

/** How to log in to a server. */
export interface OAuthEntry extends Written<Omit<OAuthSettings, "idp">> {
  readonly idp?: IdentityProviderEntry | undefined;
}

export interface StdioEntry extends ServerExtras {
  readonly type?: "stdio" | undefined;
  readonly transport?: "stdio" | undefined;
  readonly command: string;
  readonly args?: readonly string[] | undefined;
  readonly env?: Texts | undefined;
  readonly cwd?: string | undefined;
}

export const REMOTE_TYPES = [
  "http",
  "streamable-http",
  "streamableHttp",
  "streamable_http",
  "sse",
  "websocket",
] as const;
export type RemoteType = (typeof REMOTE_TYPES)[number];

export interface RemoteEntry extends ServerExtras {
  readonly type?: RemoteType | undefined;
  readonly transport?: RemoteType | undefined;
  readonly url: string;
  readonly headers?: Texts | undefined;
  readonly auth?: { readonly type: "bearer"; readonly token: string } | undefined;
  readonly oauth?: OAuthEntry | undefined;
}

export type ServerEntry = StdioEntry | RemoteEntry;

export const PROVIDERS = ["anthropic", "openai", "google", "openai-compatible"] as const;
export type ProviderName = (typeof PROVIDERS)[number];

export type ProviderEntry = Optional<"apiKey" | "baseUrl", string>;

export const THINKING_LEVELS = ["off", "low", "medium", "high"] as const;
export type { ThinkingLevel };

/** What `models` says about one of them. */
export type ModelEntry = ModelSettings;

/** The other clients whose servers `import` names. */
export const IMPORT_NAMES = [
  "claude-desktop",
  "claude-code",
  "cursor",
  "vscode",
  "zed",
  "windsurf",
  "codex",
  "opencode",
  "magenta",
  "gemini-cli",
  "cline",
  "junie",
  "goose",
] as const;
export type ImportName = (typeof IMPORT_NAMES)[number];

type PermissionsEntry = Optional<"allowBypass", boolean> & {
  readonly mode?: PermissionMode | undefined;
  readonly afterUntrusted?: "ask" | "off" | undefined;
  readonly rules?: readonly RuleEntry[] | undefined;
};

type ToolsEntry = Optional<"maxAlwaysServers" | "maxAlwaysTools" | "warnProcesses" | "headStart", number> &
  Optional<"memory", boolean>;

/** What `search.embeddings` says. */
export type EmbeddingsEntry = Written<EmbeddingSettings> & ProviderEntry;

export const NOTIFY_FORMS = ["json", "ntfy", "slack"] as const;
type NotifyForm = (typeof NOTIFY_FORMS)[number];

/** One address of `gateway.notify`; `after` in seconds. */
export interface NotifyEntry
  extends Optional<"token", string>,
    Optional<"contents", boolean>,
    Optional<"after", number> {
  readonly url: string;
  readonly form?: NotifyForm | undefined;
}

/** Where a gateway tells of questions that wait, and of turns that ended while nobody was there. */
export interface NotifyTarget {
  readonly url: string;
  readonly form: NotifyForm;
  /** Sent as a bearer token. */
  readonly token?: string;
  /** Words of the conversation are sent too. */
  readonly hasContents: boolean;
  /** How long a question waits first. */
  readonly afterMs: number;
}

/** How the chat tells a person who looks elsewhere that it asks or is done: bell, title and desktop; the bell and the title; not. */
export type ChatNotices = "on" | "bell" | "off";

/** Everything but the servers. */
export interface ConfigValues {
  readonly model?: string | undefined;
  readonly thinking?: ThinkingLevel | undefined;
  readonly models?: Readonly<Record<string, ModelEntry>> | undefined;
  readonly permissions?: PermissionsEntry | undefined;
  readonly trust?: Optional<"projects", "ask" | "ignore"> | undefined;
  /** Of `tenon chat`. */
  readonly chat?: Optional<"notices", ChatNotices> | undefined;
  readonly providers?: Optional<ProviderName, ProviderEntry> | undefined;
  readonly allowHosts?: readonly string[] | undefined;
  readonly sandbox?: Optional<"user" | "project" | "client", SandboxWritten> | undefined;
  readonly systemPrompt?: Optional<"append" | "override", string> | undefined;
  readonly tools?: ToolsEntry | undefined;
  readonly search?: Optional<"embeddings", EmbeddingsEntry> | undefined;
  readonly commands?: Optional<"env", Optional<"allow", readonly string[]>> | undefined;
  readonly import?: readonly ImportName[] | undefined;
  readonly gateway?: Optional<"notify", NotifyEntry | readonly NotifyEntry[]> | undefined;
  readonly serverLimits?: Optional<"maxProcesses" | "maxMemoryMb" | "idleMs", number> | undefined;
}

export function isRemoteEntry(entry: ServerEntry): entry is RemoteEntry {
  return "url" in entry;
}
