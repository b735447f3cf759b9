// The settings of a server's connection: what its entry says beside how it is reached, under the user's rules for its layer.

import type { UrlSource } from "../base/io/net-policy.js";
import { defined } from "../base/json/defined.js";
import { literalGlob } from "../base/text/glob.js";
import type { OAuthSettings, PoolSettings, ServerLimits, ToolOverrides } from "../mcp/index.js";
import type { SourceSettings, ToolOrigin, ToolShape } from "../tools/index.js";
import type { IncludeMode, ServerExtras, ToolEntry } from "./entry.js";
import type { LayerKind } from "./place.js";
import { type LeastSandboxes, type ServerSandbox, sandboxOf } from "./sandbox.js";
import { emptyRecord } from "./text-tree.js";

/** Everything about a server that is not how it is reached. */
export interface ServerSettings {
  /** Whose server it is; the command line's are the user's. */
  readonly origin: Extract<ToolOrigin, "user" | "project" | "client">;
  /** For `ConnectionOptions.limits`. */
  readonly limits: Partial<ServerLimits>;
  /** For `ConnectionOptions.tools`. */
  readonly tools: Readonly<Record<string, ToolOverrides>>;
  /** For `ConnectionOptions.allowHosts`. */
  readonly allowHosts: readonly string[];
  /** Who named its URL: a project's may not lead to private addresses. */
  readonly urlSource: Extract<UrlSource, "typed" | "project">;
  /** Undefined: whatever the origin's default is. */
  readonly include?: IncludeMode;
  readonly includeByTool: Readonly<Record<string, IncludeMode>>;
  /** Put before tool names. */
  readonly prefix?: string;
  /** What is changed about single tools. */
  readonly shapes: Readonly<Record<string, ToolShape>>;
  /** Globs on tool names. */
  readonly allow?: readonly string[];
  readonly deny: readonly string[];
  readonly isRequired: boolean;
  readonly isLazy: boolean;
  /** Whether other sessions of the process may use the same server. */
  readonly mayShare: boolean;
  /** What the user says about all servers together. */
  readonly pool: PoolSettings;
  /** The user's word that what the server says about its tools is true. */
  readonly trustsAnnotations: boolean;
  /** The user's word that what the server answers is no content from outside. */
  readonly trustsResults: boolean;
  /** What its process may touch; without meaning for a server that is not started here. */
  readonly sandbox: ServerSandbox;
  /** Which of several log-ins at the server. */
  readonly account?: string;
  /** Remote servers: what its entry says about logging in. */
  readonly oauth?: OAuthSettings;
  /** Values that came from the environment, files, commands or the keyring: never to be shown or written. */
  readonly secrets: readonly string[];
}

export interface LayerRules {
  readonly allowHosts: readonly string[];
  readonly sandbox: LeastSandboxes;
  /** The same for all servers. */
  readonly pool?: PoolSettings;
}

/** Settings of a server that came as a spec: nothing but the user's rules for clients. */
export function givenSettings(rules: LayerRules): ServerSettings {
  return settingsOf({}, "client", rules, []);
}

export function settingsOf(
  entry: ServerExtras,
  layer: LayerKind,
  rules: LayerRules,
  secrets: readonly string[],
): ServerSettings {
  const origin = layer === "project" || layer === "client" ? layer : "user";
  const tools: Record<string, ToolOverrides> = emptyRecord();
  const includeByTool: Record<string, IncludeMode> = emptyRecord();
  const shapes: Record<string, ToolShape> = emptyRecord();
  const disabled: string[] = [];
  for (const [name, tool] of Object.entries(entry.tools ?? {})) {
    const { timeoutMs, idempotent, include, enabled } = tool;
    if (timeoutMs !== undefined || idempotent !== undefined) {
      tools[name] = defined({ timeoutMs, isIdempotent: idempotent });
    }
    if (include !== undefined) includeByTool[name] = include;
    if (enabled === false) disabled.push(literalGlob(name));
    const shape = shapeOf(tool);
    if (Object.keys(shape).length > 0) shapes[name] = shape;
  }
  return {
    origin,
    limits: limitsOf(entry),
    tools,
    allowHosts: rules.allowHosts,
    urlSource: origin === "project" ? "project" : "typed",
    includeByTool,
    shapes,
    deny: [...(entry.deny ?? []), ...disabled],
    isRequired: entry.required === true,
    isLazy: entry.lazy === true,
    mayShare: entry.shared !== false,
    pool: rules.pool ?? {},
    trustsAnnotations: origin === "user" && entry.trustAnnotations === true,
    trustsResults: origin === "user" && entry.trustResults === true,
    sandbox: sandboxOf(entry.sandbox, origin, rules.sandbox),
    secrets: [...new Set(secrets)],
    ...defined({ include: entry.include, prefix: entry.prefix, allow: entry.allow, account: entry.account }),
  };
}

/** What the session's catalog needs to know of a server. */
export function sourceSettings(settings: ServerSettings): SourceSettings {
  const { include, includeByTool, allow, deny, prefix, shapes } = settings;
  return {
    includeByTool,
    deny,
    tools: shapes,
    ...defined({ include, allow, prefix }),
  };
}

function shapeOf({ name, description, arguments: pinned, defaults, providerOptions }: ToolEntry): ToolShape {
  return defined({ name, description, arguments: pinned, defaults, providerOptions });
}

function limitsOf({ timeouts, limits }: ServerExtras): Partial<ServerLimits> {
  const { connectMs, callMs, maxCallMs } = timeouts ?? {};
  const { callsPerMinute, callsAtOnce } = limits ?? {};
  return defined({
    connectTimeoutMs: connectMs,
    callTimeoutMs: callMs,
    callMaxMs: maxCallMs,
    callsPerMinute,
    callsAtOnce,
  });
}
