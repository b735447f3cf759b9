// The shapes of what a configuration file may say, after checking and before interpolation.
import type { JsonObject } from "../../base/json/json.js";
import type { ModelSettings, ThinkingLevel } from "../../models/index.js";
import type { IncludeMode, PermissionMode, PolicyEffect, ToolOrigin } from "../../tools/index.js";

export const INCLUDE_MODES = ["always", "manual", "search"] as const;
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
export interface RuleEntry {
  readonly effect: PolicyEffect;
  readonly server?: string | undefined;
  readonly tool?: string | undefined;
  readonly origin?: readonly ToolOrigin[] | undefined;
  readonly annotations?:
    | {
        readonly readOnly?: boolean | undefined;
        readonly destructive?: boolean | undefined;
        readonly idempotent?: boolean | undefined;
        readonly openWorld?: boolean | undefined;
      }
    | undefined;
  readonly arguments?: readonly ConditionEntry[] | undefined;
  readonly reason?: string | undefined;
}

/** Exactly one of the tests is given. */
export interface ConditionEntry {
  readonly pointer: string;
  readonly equals?: unknown;
  readonly glob?: string | undefined;
  readonly prefix?: string | undefined;
  readonly under?: string | undefined;
  readonly oneOf?: readonly unknown[] | undefined;
}

export interface ToolEntry {
  readonly include?: IncludeMode | undefined;
  readonly timeoutMs?: number | undefined;
  readonly idempotent?: boolean | undefined;
  readonly enabled?: boolean | undefined;
  readonly name?: string | undefined;
  readonly description?: string | undefined;
  readonly arguments?: JsonObject | undefined;
  readonly defaults?: JsonObject | undefined;
  readonly providerOptions?: Readonly<Record<string, JsonObject>> | undefined;
}

/** Tenon's own keys of a server entry. */
export interface ServerExtras {
  readonly include?: IncludeMode | undefined;
  readonly tools?: Readonly<Record<string, ToolEntry>> | undefined;
  readonly prefix?: string | undefined;
  readonly allow?: readonly string[] | undefined;
  readonly deny?: readonly string[] | undefined;
  readonly timeouts?:
    | {
        readonly connectMs?: number | undefined;
        readonly callMs?: number | undefined;
        readonly maxCallMs?: number | undefined;
      }
    | undefined;
  readonly limits?:
    | { readonly callsPerMinute?: number | undefined; readonly callsAtOnce?: number | undefined }
    | undefined;
  readonly required?: boolean | undefined;
  readonly sandbox?: SandboxWritten | undefined;
  readonly account?: string | undefined;
  readonly disabled?: boolean | undefined;
  readonly lazy?: boolean | undefined;
  readonly shared?: boolean | undefined;
  readonly trustAnnotations?: boolean | undefined;
  readonly trustResults?: boolean | undefined;
}

type Texts = Readonly<Record<string, string>>;

export const OAUTH_GRANTS = ["authorization_code", "client_credentials", "jwt_bearer", "enterprise"] as const;

/** The identity provider of `"grant": "enterprise"`. */
export interface IdentityProviderEntry {
  readonly issuer?: string | undefined;
  readonly tokenEndpoint?: string | undefined;
  readonly clientId: string;
  readonly clientSecret?: string | undefined;
  readonly authMethod?: string | undefined;
  readonly idToken?: string | undefined;
}

/** What an entry says about logging in. */
export interface OAuthEntry {
  readonly issuer?: string | undefined;
  readonly clientId?: string | undefined;
  readonly clientSecret?: string | undefined;
  readonly clientMetadataUrl?: string | undefined;
  readonly scopes?: readonly string[] | undefined;
  readonly grant?: (typeof OAUTH_GRANTS)[number] | undefined;
  readonly assertion?: string | undefined;
  readonly idp?: IdentityProviderEntry | undefined;
  readonly privateKey?: string | undefined;
  readonly signingAlgorithm?: string | undefined;
  readonly keyId?: string | undefined;
  readonly authMethod?: string | undefined;
  readonly callbackPort?: number | undefined;
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

export interface ProviderEntry {
  readonly apiKey?: string | undefined;
  readonly baseUrl?: string | undefined;
}

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
] as const;
export type ImportName = (typeof IMPORT_NAMES)[number];

/** Everything but the servers. */
export interface ConfigValues {
  readonly model?: string | undefined;
  readonly thinking?: ThinkingLevel | undefined;
  readonly models?: Readonly<Record<string, ModelEntry>> | undefined;
  readonly permissions?:
    | {
        readonly mode?: PermissionMode | undefined;
        readonly allowBypass?: boolean | undefined;
        readonly afterUntrusted?: "ask" | "off" | undefined;
        readonly rules?: readonly RuleEntry[] | undefined;
      }
    | undefined;
  readonly trust?: { readonly projects?: "ask" | "ignore" | undefined } | undefined;
  readonly providers?: Readonly<Partial<Record<ProviderName, ProviderEntry | undefined>>> | undefined;
  readonly allowHosts?: readonly string[] | undefined;
  readonly sandbox?:
    | {
        readonly user?: SandboxWritten | undefined;
        readonly project?: SandboxWritten | undefined;
        readonly client?: SandboxWritten | undefined;
      }
    | undefined;
  readonly systemPrompt?: { readonly append?: string | undefined; readonly override?: string | undefined } | undefined;
  readonly tools?:
    | {
        readonly maxAlwaysServers?: number | undefined;
        readonly maxAlwaysTools?: number | undefined;
        readonly warnProcesses?: number | undefined;
        readonly headStart?: number | undefined;
        readonly memory?: boolean | undefined;
      }
    | undefined;
  readonly commands?: { readonly env?: { readonly allow?: readonly string[] | undefined } | undefined } | undefined;
  readonly import?: readonly ImportName[] | undefined;
  readonly serverLimits?:
    | {
        readonly maxProcesses?: number | undefined;
        readonly maxMemoryMb?: number | undefined;
        readonly idleMs?: number | undefined;
      }
    | undefined;
}

export function isRemoteEntry(entry: ServerEntry): entry is RemoteEntry {
  return "url" in entry;
}
