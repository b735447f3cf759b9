// The zod schema of a configuration file. zod is heavy: this file is only loaded by `import()`, when there is a file to check.
import * as z from "zod/v4";
import { INCLUDE_MODES, includeMode, SEARCH_ALIAS } from "../../base/include-mode.js";
import { defined } from "../../base/json/defined.js";
import type { JsonObject, JsonValue } from "../../base/json/json.js";
import { nearest } from "../../base/text/nearest.js";
import { CONFIG_LIMITS } from "../limits.js";
import type { KeyPath } from "./document.js";
import {
  type ConfigValues,
  type IdentityProviderEntry,
  IMPORT_NAMES,
  type ModelEntry,
  NOTIFY_FORMS,
  type NotifyEntry,
  OAUTH_GRANTS,
  type OAuthEntry,
  PERMISSION_MODES,
  POLICY_EFFECTS,
  type ProviderEntry,
  REMOTE_TYPES,
  type RemoteEntry,
  type RuleEntry,
  SANDBOX_MODES,
  type SandboxWritten,
  type StdioEntry,
  THINKING_LEVELS,
  TOOL_ORIGINS,
} from "./entry.js";
import { type Checked, type Finding, foreignKey, kindOf, pathText, shownKey, valueAt, without } from "./findings.js";

const text = z.string().min(1);
/** Arguments and values may be empty. */
const anyText = z.string();
const address = z.url({ protocol: /^https?$/u, error: "must be an http or https address" });
const anyObject = z.record(z.string(), z.json());

function optional<Schema extends z.ZodType>(schema: Schema, description: string) {
  return schema.optional().describe(description);
}

// What most keys are: each may be left out.
const words = (description: string) => optional(text, description);
const list = (description: string) => optional(z.array(text), description);
const flag = (description: string) => optional(z.boolean(), description);
const webAddress = (description: string) => optional(address, description);
const whole = (min: number, max: number, description: string) => optional(z.int().min(min).max(max), description);
const milliseconds = (description: string) => whole(1, 86_400_000, description);
const count = (description: string) => whole(0, 10_000, description);
const includeSchema = z.enum([...INCLUDE_MODES, SEARCH_ALIAS]).transform((mode) => includeMode(mode) ?? "search");
const include = (description: string) => optional(includeSchema, description);

function section<Shape extends z.core.$ZodShape>(description: string, shape: Shape) {
  return z.strictObject(shape).optional().describe(description);
}

const references = "Takes ${VAR}, ${VAR:-default}, {env:VAR} and {file:path}; write $${ for a literal ${.";
const secretReferences = `${references} In the user's own configuration also "!command" and "keyring:name".`;

/** A mode, or an object with what is granted besides. */
const sandboxSchema: z.ZodType<SandboxWritten> = z.union([
  z.enum(SANDBOX_MODES),
  z.strictObject({
    mode: z
      .enum(SANDBOX_MODES)
      .describe(
        'What becomes of the session\'s directories: "workspace" may be written, "read-only" only read; "off" is no sandbox.',
      ),
    network: flag("true grants the network of this machine; without it there is none."),
    read: list("Files and folders that may be read besides: absolute, ~/…, or relative to the session's directory."),
    write: list("The same for what may be written."),
  }),
]);

const idp: z.ZodType<IdentityProviderEntry> = z
  .strictObject({
    issuer: webAddress(
      "The identity provider, by which it is found. Secrets of idp, and the ID token, go to no other.",
    ),
    tokenEndpoint: webAddress("Where tokens are exchanged, where the issuer does not say it itself."),
    clientId: text.describe(`The client you registered at the identity provider. ${references}`),
    clientSecret: words(`Its secret. ${secretReferences}`),
    authMethod: words("token_endpoint_auth_method of that client; chosen from what the provider offers unless given."),
    idToken: words(`The person's ID token; without it they log in at the identity provider. ${secretReferences}`),
  })
  .refine(({ issuer, tokenEndpoint }) => issuer !== undefined || tokenEndpoint !== undefined, {
    error: "must have an issuer, or a tokenEndpoint",
  })
  .refine(({ issuer, idToken }) => issuer !== undefined || idToken !== undefined, {
    error: "must have an issuer to log in at, or an idToken",
  });

const settings = z.strictObject({
  issuer: webAddress(
    "The only authorization server these credentials are for; another one the server names never sees them.",
  ),
  clientId: words(`The client you registered at the authorization server. ${references}`),
  clientSecret: words(`Its secret. ${secretReferences}`),
  clientMetadataUrl: optional(
    z.url({ protocol: /^https$/u, error: "must be an https address" }),
    "A client id metadata document to be known by instead.",
  ),
  scopes: list("What to ask for, instead of what the server says."),
  grant: optional(
    z.enum(OAUTH_GRANTS),
    '"client_credentials" logs in as the client itself and "jwt_bearer" with an assertion, both without a person; with "enterprise" the identity provider of idp vouches for the person.',
  ),
  assertion: words(`The JWT a workload is known by, for jwt_bearer. ${secretReferences}`),
  idp: optional(idp, "Who vouches for the person, for enterprise."),
  privateKey: words(`PEM of the client's key, for private_key_jwt. ${secretReferences}`),
  signingAlgorithm: words("Of that key: ES256 unless given."),
  keyId: words("Which key it is (kid), where the server knows several."),
  authMethod: words("token_endpoint_auth_method of the client; chosen from what the server offers unless given."),
  callbackPort: whole(
    1,
    65_535,
    "The port of http://127.0.0.1:<port>/callback, where only that one is registered; any free one unless given.",
  ),
});

const oauthSchema: z.ZodType<OAuthEntry> = settings.refine(
  ({ grant, idp: provider }) => (grant === "enterprise") === (provider !== undefined),
  { error: 'must have both "grant": "enterprise" and idp, or neither' },
);

const tool = z.strictObject({
  include: include("How this tool comes before the model, whatever its server says."),
  timeoutMs: milliseconds("A call without progress ends after this many milliseconds."),
  idempotent: flag(
    "Calling twice does no harm: after a broken connection the call is sent again. User configuration only.",
  ),
  enabled: flag("false takes the tool away."),
  name: words("What the model calls it instead, without the prefix; the server is called by its own name."),
  description: optional(anyText, "What the model reads about it instead."),
  arguments: optional(
    anyObject,
    "Arguments put into every call; the model does not see them. Values are taken as they are.",
  ),
  defaults: optional(anyObject, "Arguments put into a call where the model gives none."),
  providerOptions: optional(
    z.record(z.string(), anyObject),
    'Passed on to the model provider of that name with the tool, for example {"openai": {"strict": true}}.',
  ),
});

const extras = {
  include: include(
    'How its tools come before the model: "always", "manual" (added by the person) or "search"; "agent" is another name of "search".',
  ),
  tools: optional(z.record(z.string(), tool), "Settings of single tools, by the server's own names for them."),
  prefix: words("Put before the names of its tools as the model sees them."),
  allow: list("Only tools that match one of these globs (* and ?) are used."),
  deny: list("Tools that match one of these globs are never used; stronger than allow."),
  rename: optional(
    z.record(z.string(), text),
    "Other names for tools, by the server's own names: the short form of name in tools. The server is called by its own.",
  ),
  timeoutMs: milliseconds(
    "A call without progress ends after this many milliseconds: the short form of callMs in timeouts.",
  ),
  timeouts: section("In milliseconds.", {
    connectMs: milliseconds("From the start until the tools are listed."),
    callMs: milliseconds("A call without progress ends after this."),
    maxCallMs: milliseconds("Any call ends after this, whatever its progress."),
  }),
  limits: section("How hard the server may be driven.", {
    callsPerMinute: whole(1, 100_000, "Calls started within a minute."),
    callsAtOnce: whole(1, 1_000, "Calls that run at the same time."),
  }),
  required: flag("The first turn waits for this server, or fails with the cause when it does not start."),
  sandbox: optional(
    sandboxSchema,
    'What the process of a server that Tenon starts may touch: "off" (everything), "workspace" or "read-only".',
  ),
  account: words("Which of several log-ins at the server to use. User configuration only."),
  disabled: flag("true keeps the entry and leaves the server out."),
  lazy: flag("The server is started when one of its tools is first used."),
  shared: flag(
    "false gives every session a server of its own, also where several could use one: for those that keep a state.",
  ),
  trustAnnotations: flag(
    "What the server says about its tools (that one only reads) is taken as true, by rules and by the mode plan. User configuration only.",
  ),
  trustResults: flag(
    "What the server answers is not counted as content from outside: see permissions.afterUntrusted. User configuration only.",
  ),
};

export const stdioEntry: z.ZodType<StdioEntry> = z
  .strictObject({
    type: optional(z.literal("stdio"), "May be left out."),
    transport: optional(z.literal("stdio"), "Another name for type."),
    command: text.describe(`The program: a name found in PATH, or a path. ${references}`),
    args: optional(z.array(anyText), `Its arguments, passed as they are, without a shell. ${references}`),
    env: optional(
      z.record(z.string(), anyText),
      `Variables added to the small environment every server gets. ${secretReferences}`,
    ),
    cwd: words(`Where it runs; the session's directory unless given. ${references}`),
    ...extras,
  })
  .meta({ title: "A server that Tenon starts" });

export const remoteEntry: z.ZodType<RemoteEntry> = z
  .strictObject({
    type: optional(z.enum(REMOTE_TYPES), '"http" is Streamable HTTP (the default), "sse" the older HTTP+SSE.'),
    transport: optional(z.enum(REMOTE_TYPES), "Another name for type."),
    url: text.describe(`https, or http for this machine and for allowHosts. ${references}`),
    headers: optional(z.record(z.string(), anyText), `Sent with every request. ${secretReferences}`),
    auth: section("A token to send; without it Tenon logs in when the server asks for it.", {
      type: z.literal("bearer"),
      token: text.describe(secretReferences),
    }),
    oauth: optional(oauthSchema, "How to log in, where the server does not say it all itself."),
    ...extras,
  })
  .meta({ title: "A server reached over the network" });

const provider: z.ZodType<ProviderEntry | undefined> = z
  .strictObject({
    apiKey: words(`The key. ${secretReferences}`),
    baseUrl: words(`Where requests go instead of the provider's own address. ${references}`),
  })
  .optional();

const tokens = z.int().min(1).max(1_000_000_000);
const dollars = z.number().min(0).max(1_000_000);

/** What Tenon knows of most models by itself, and of others not. */
const modelEntry: z.ZodType<ModelEntry> = z.strictObject({
  contextTokens: optional(tokens, "How many tokens prompt and answer have together."),
  maxOutputTokens: optional(tokens, "How long an answer may be; sent with every request."),
  images: flag("Whether it takes pictures; where it does not, they are named to it."),
  audio: flag("Whether it takes sound."),
  pdf: flag("Whether it takes PDF files."),
  thinking: optional(z.array(z.enum(THINKING_LEVELS)), "The levels of thinking it has; empty for none."),
  silenceMs: whole(
    1_000,
    86_400_000,
    "How long it may send nothing before the request is given up; 300000 unless given.",
  ),
  toolSearch: flag(
    "Whether tools found by search are sent in the provider's own way. Unless given: at the provider's own address only.",
  ),
  price: section("US dollars per million tokens.", {
    inputPerMTok: dollars.describe("Input."),
    outputPerMTok: dollars.describe("Output."),
    cacheReadPerMTok: optional(dollars, "Input read from the cache."),
    cacheWritePerMTok: optional(dollars, "Input written to the cache."),
    longContext: section("Requests with more input than this are dearer as a whole.", {
      aboveTokens: tokens.describe("Input above which it is dearer."),
      inputFactor: dollars.describe("What the price of input is multiplied by."),
      outputFactor: dollars.describe("What the price of output is multiplied by."),
    }),
  }),
});

const USER_ONLY = "User configuration only.";

const notify: z.ZodType<NotifyEntry> = z.strictObject({
  url: text.describe(`Where it is posted: https, or http for this machine and for allowHosts. ${secretReferences}`),
  form: optional(
    z.enum(NOTIFY_FORMS),
    '"json" (the default): an object; "ntfy": a message to the topic of that address; "slack": an incoming webhook.',
  ),
  token: words(`Sent as "Authorization: Bearer …". ${secretReferences}`),
  contents: flag("Whether directories, questions and errors are sent too; without it only ids and kinds are."),
  after: whole(0, 86_400, "Seconds a question waits before it is told: 20."),
});

const TESTS = ["equals", "glob", "prefix", "under", "oneOf"] as const;

const condition = z
  .strictObject({
    pointer: z
      .string()
      .regex(/^(?:\/(?:[^~]|~[01])*)?$/u, { error: 'must be a JSON pointer, such as "/path"' })
      .describe("Where the argument stands, as a JSON pointer: /path, /files/0. One that is not there does not match."),
    equals: z.unknown().optional().describe("It is exactly this."),
    glob: optional(anyText, "It is a text that matches this glob: * is any text, ? one character."),
    prefix: optional(
      anyText,
      "It is a text that begins so. For run_command: it begins with these words, and is one program with literal arguments; for fetch_url: the same host, and a path that begins so. Not for paths: see under.",
    ),
    under: words("It is a path in this directory, links followed. Relative paths begin at the session's directory."),
    oneOf: optional(z.array(z.unknown()), "It is exactly one of these."),
  })
  .refine((given) => TESTS.filter((test) => given[test] !== undefined).length === 1, {
    error: `must have exactly one of ${TESTS.join(", ")}`,
  });

/** Checked one by one: see `read-entry.ts`. */
export const ruleEntry: z.ZodType<RuleEntry> = z
  .strictObject({
    effect: z
      .enum(POLICY_EFFECTS)
      .describe('"allow" it, "deny" it, or "ask" the person every time. In a project\'s file not "allow".'),
    server: words("A glob on the server's name; any server unless given."),
    tool: words("A glob on the server's own name of the tool; any tool unless given."),
    origin: optional(
      z.array(z.enum(TOOL_ORIGINS)),
      'Whose servers it is about. Unless given: any, but "allow" is not for servers of projects, nor for what clients run or reach themselves.',
    ),
    annotations: section("What the server says about the tool; counts for servers with trustAnnotations only.", {
      readOnly: flag("It changes nothing."),
      destructive: flag("It may destroy something."),
      idempotent: flag("Calling it twice is as calling it once."),
      openWorld: flag("It reaches beyond this machine."),
    }),
    arguments: optional(z.array(condition), "What the arguments must be, all of it."),
    reason: words("For the person and the model. Not read from a project's file."),
  })
  .meta({ title: "A rule about tool calls" });

const values = {
  model: words("provider/name, for example anthropic/claude-sonnet-5-5 or offline/operator."),
  thinking: optional(
    z.enum(THINKING_LEVELS),
    "How much the model thinks before it answers; unless given, as its provider decides.",
  ),
  models: optional(
    z.record(z.string(), modelEntry),
    "What single models can do and cost, by provider/name; stronger than what Tenon knows of them.",
  ),
  systemPrompt: section(`What the model is told besides. ${USER_ONLY}`, {
    append: words("Said to the model after Tenon's own words."),
    override: words("Said in place of Tenon's introduction; the rules for tools stay."),
  }),
  permissions: section(
    `What may happen without asking. ${USER_ONLY} A project's file may have rules that ask or deny.`,
    {
      mode: optional(z.enum(PERMISSION_MODES), "The mode sessions start in."),
      allowBypass: flag("Whether a session may be switched to ask for nothing at all."),
      afterUntrusted: optional(
        z.enum(["off", "ask"]),
        '"ask": once a session has read a web page or an answer of a server without trustResults, tools that send or write are asked about, whatever grants and rules allow. "off" (the default). Recommended for unattended use.',
      ),
      rules: optional(
        z.array(ruleEntry),
        "Which calls are allowed, asked about or denied: the first that is about a call decides.",
      ),
    },
  ),
  trust: section(`How projects' files are treated. ${USER_ONLY}`, {
    projects: optional(
      z.enum(["ask", "ignore"]),
      '"ask" (the default) about each entry of a project\'s files, or "ignore" those files.',
    ),
  }),
  chat: section(`The terminal chat. ${USER_ONLY}`, {
    notices: optional(
      z.enum(["on", "bell", "off"]),
      '"on" (the default): bell, title of the window and desktop notice when it asks or a long turn is done; "bell": without the desktop notice; "off".',
    ),
  }),
  providers: section(`Keys and addresses of model providers; variables in the environment are stronger. ${USER_ONLY}`, {
    anthropic: provider,
    openai: provider,
    google: provider,
    "openai-compatible": provider,
  }),
  allowHosts: list(`Hosts (host or host:port) reached without TLS and at private addresses. ${USER_ONLY}`),
  commands: section(`Commands that the agent runs. ${USER_ONLY}`, {
    env: section("Their environment: yours, without variables that look like secrets.", {
      allow: list(
        'Names of variables that commands get although they look like secrets, for example ["PGPASSWORD"]. `tenon doctor` lists what is withheld.',
      ),
    }),
  }),
  sandbox: section(`The least sandbox for all servers of a layer. ${USER_ONLY}`, {
    user: optional(sandboxSchema, "For servers of this file."),
    project: optional(sandboxSchema, "For servers of projects' files."),
    client: optional(sandboxSchema, "For servers an editor hands over."),
  }),
  tools: section("How many tools are put in front of the model.", {
    maxAlwaysServers: count("Servers whose tools are offered to the model from the start: 10."),
    maxAlwaysTools: count("Tools offered to the model; the others are behind search: 100."),
    warnProcesses: count("Servers that run as processes, above which the person is told: 5."),
    headStart: count("Tools the first prompt chooses from those behind search: 10. Later ones choose at most 5."),
    memory: flag("Whether it is remembered, on this machine only, which prompts led to which tools: true."),
  }),
  search: section(`How tools behind search are found. ${USER_ONLY}`, {
    embeddings: section(
      "Compares prompts and tools by meaning too: prompts, searches and descriptions of tools are sent to this model.",
      {
        model: z
          .string()
          .regex(/^(?:openai|google|gemini|openai-compatible)\/\S/u, {
            error: 'must be "openai/…", "google/…" or "openai-compatible/…", with the name of an embeddings model',
          })
          .describe(
            "provider/name, for example openai/text-embedding-3-small, google/gemini-embedding-001 or openai-compatible/nomic-embed-text.",
          ),
        baseUrl: words(
          `Where requests go instead of the provider's address; keys of providers do not go there. ${references}`,
        ),
        apiKey: words(`The key, instead of the provider's. ${secretReferences}`),
        dimensions: whole(1, 4_096, "How many numbers a vector is to have; unless given, as many as the model gives."),
        queryPrefix: optional(anyText, 'Put before a prompt, for models that want it, such as "search_query: ".'),
        documentPrefix: optional(anyText, 'The same before the text of a tool, such as "search_document: ".'),
      },
    ),
  }),
  serverLimits: section(`All servers of one Tenon process together. ${USER_ONLY}`, {
    maxProcesses: whole(1, 10_000, "Server processes of all sessions together: 128."),
    maxMemoryMb: whole(
      1,
      10_000_000,
      "Memory of all of them above which no further one is started: half of the machine's.",
    ),
    idleMs: whole(0, 86_400_000, "How long a server that sessions share stays after the last of them has left: 60000."),
  }),
  gateway: section(`The gateway that keeps sessions. ${USER_ONLY}`, {
    notify: optional(
      z.union([notify, z.array(notify).max(CONFIG_LIMITS.notifyTargets)]),
      "Where it is told that a question waits, or that a turn ended or failed while no client was attached. One address, or a list.",
    ),
  }),
  import: optional(
    z.array(z.enum(IMPORT_NAMES)),
    `Other clients whose servers are used too, as their own files have them and below those of this file; of two with a server of the same name the first counts. ${USER_ONLY}`,
  ),
};

/** Everything but the servers. */
export const configValues: z.ZodType<ConfigValues> = z.strictObject(values);

/** The file as editors should complete it. Entries are checked one by one, so that a bad one costs only itself. */
export const configFile: z.ZodType = z
  .strictObject({
    $schema: z.string().optional().describe("Where editors find this schema."),
    mcpServers: optional(z.record(z.string(), z.union([stdioEntry, remoteEntry])), "MCP servers by name."),
    ...values,
  })
  .meta({
    title: "Tenon configuration",
    description: "JSON with comments and trailing commas: the user's config.json, or a project's .tenon/config.json.",
    allowTrailingCommas: true,
  });

/** What stands in `schema/config.schema.json`. */
export function configJsonSchema(): unknown {
  return z.toJSONSchema(configFile, { io: "input", target: "draft-2020-12" });
}

export const VALUE_KEYS: readonly string[] = Object.keys(values);

/** An unknown key that looks like a slip is an error: a misspelt `deny` must not silently allow. Others are ignored. */
export function check<T>(
  schema: z.ZodType<T>,
  value: JsonObject,
  show: (value: JsonValue | undefined) => string = shortly,
): Checked<T> {
  const findings: Finding[] = [];
  const unknown: KeyPath[] = [];
  for (const issue of (schema.safeParse(value).error?.issues ?? []).flatMap(ofOneForm)) {
    const path = issue.path.map((step) => (typeof step === "symbol" ? String(step) : step));
    if (issue.code !== "unrecognized_keys") {
      findings.push(findingOf(issue, path, valueAt(value, path), show));
      continue;
    }
    for (const key of issue.keys) {
      unknown.push([...path, key]);
      findings.push(unknownKey(key, path, keysAt(schema, path)));
    }
  }
  if (findings.some(({ severity }) => severity === "error")) return { value: undefined, findings };
  const kept = without(value, unknown);
  return { value: schema.parse(kept), kept, findings };
}

/** Of a value that may have several forms: what is wrong with the form it comes nearest to. */
function ofOneForm(issue: z.core.$ZodIssue): readonly z.core.$ZodIssue[] {
  if (issue.code !== "invalid_union") return [issue];
  const isOther = ({ path, code }: z.core.$ZodIssue) => path.length === 0 && code !== "unrecognized_keys";
  const form = issue.errors.find((issues) => !issues.some(isOther)) ?? issue.errors[0] ?? [];
  return form.map((inner) => ({ ...inner, path: [...issue.path, ...inner.path] }));
}

function unknownKey(key: string, path: KeyPath, known: readonly string[]): Finding {
  const foreign = foreignKey(key, known);
  const suggestion = foreign ?? nearest(key, known);
  const isSlip = foreign === undefined && suggestion !== undefined;
  return {
    severity: isSlip ? "error" : "warning",
    path: [...path, key],
    at: "key",
    message: `unknown key ${shownKey(key)}${isSlip ? "" : " is ignored"}`,
    ...defined({ suggestion }),
  };
}

function findingOf(
  issue: z.core.$ZodIssue,
  path: KeyPath,
  found: JsonValue | undefined,
  show: (value: JsonValue | undefined) => string,
): Finding {
  const name = pathText(path);
  const base = { severity: "error", path, at: "value" } as const;
  switch (issue.code) {
    case "invalid_type":
      return {
        ...base,
        message: `${name} must be ${EXPECTED[issue.expected] ?? issue.expected}, got ${kindOf(found)}`,
      };
    case "invalid_value": {
      const words = issue.values.map((value) => JSON.stringify(value));
      const suggestion = typeof found === "string" ? nearest(found, issue.values.map(String)) : undefined;
      return {
        ...base,
        message: `${name} must be ${listed(words)}, got ${show(found)}`,
        ...defined({ suggestion }),
      };
    }
    case "too_small":
      if (issue.origin === "string") return { ...base, message: `${name} must be a text that is not empty` };
      return { ...base, message: `${name} must be at least ${issue.minimum}, got ${show(found)}` };
    case "too_big":
      return { ...base, message: `${name} must be at most ${issue.maximum}, got ${show(found)}` };
    default:
      return { ...base, message: `${name} ${issue.message}` };
  }
}

const EXPECTED: Readonly<Record<string, string>> = {
  string: "a text",
  number: "a number",
  int: "a whole number",
  boolean: "true or false",
  array: "a list",
  object: "an object",
  record: "an object",
};

/** `a`, `a or b`, `a, b or c`. */
function listed(words: readonly string[]): string {
  return words.length < 2 ? (words[0] ?? "nothing") : `${words.slice(0, -1).join(", ")} or ${words.at(-1)}`;
}

/** Short values as they are; what is longer may be a secret in the wrong place. */
function shortly(value: JsonValue | undefined): string {
  const text = value === undefined ? undefined : JSON.stringify(value);
  return text === undefined || text.length > 24 || typeof value === "object" ? kindOf(value) : text;
}

/** The keys an object may have at a path, for suggestions; empty where anything may be. */
function keysAt(schema: z.ZodType, path: readonly PropertyKey[]): readonly string[] {
  const found = path.reduce<z.core.$ZodType | undefined>((current, step) => childOf(current, step), schema);
  const object = unwrap(found);
  return object instanceof z.ZodObject ? Object.keys(object.shape) : [];
}

function childOf(schema: z.core.$ZodType | undefined, step: PropertyKey): z.core.$ZodType | undefined {
  const parent = unwrap(schema);
  if (parent instanceof z.ZodObject) {
    const shape: Readonly<Record<string, z.core.$ZodType>> = parent.shape;
    return Object.hasOwn(shape, step) ? shape[String(step)] : undefined;
  }
  if (parent instanceof z.ZodRecord) return parent.valueType;
  return parent instanceof z.ZodArray ? parent.element : undefined;
}

/** Of several forms, the one that has keys. */
function unwrap(schema: z.core.$ZodType | undefined): z.core.$ZodType | undefined {
  if (schema instanceof z.ZodUnion) return schema.options.find((option) => option instanceof z.ZodObject) ?? schema;
  return schema instanceof z.ZodOptional ? unwrap(schema.unwrap()) : schema;
}
