// What may be called without asking anybody: what the policy says, what the person granted, what the lock of definitions holds.

import { dirname, resolve } from "node:path";
import { defined } from "../../base/json/defined.js";
import { isJsonObject, type JsonObject, type JsonValue } from "../../base/json/json.js";
import { recorded } from "../../base/ports/trace.js";
import type { Files, Log, World } from "../../base/ports/world.js";
import { markHidden } from "../../base/text/marking.js";
import type { BuiltinPresentation } from "../../builtin/index.js";
import { possiblePaths } from "../../config/index.js";
import {
  type Approval,
  type ApprovalAnswer,
  type ApprovalStatus,
  type ApprovalSubject,
  Approvals,
  type CatalogTool,
  type DecisionStore,
  decide,
  type Finding,
  findProtected,
  type GrantedCall,
  grantedCall,
  hintsOf,
  type LockHold,
  lockedServer,
  lockHold,
  type MigrationReport,
  NO_PATHS,
  type OwnPlace,
  type PathTable,
  type PermissionMode,
  type PolicyDecision,
  type PolicyRule,
  type ProtectionPlace,
  pathsInArguments,
  pathsInCommand,
  resolvePaths,
  type SourcedTool,
  type ToolDefinition,
  type ToolOrigin,
  type ToolsLock,
  underProtection,
  type WrittenPath,
} from "../../tools/index.js";

/** What the configuration says now; it may change between two calls. */
export interface SessionPolicy {
  readonly mode: PermissionMode;
  readonly mayBypass: boolean;
  /** In their order: command line, user, project. */
  readonly rules: readonly PolicyRule[];
  /** `ask`: after content from outside was read, tools that send or write are asked about whatever was granted. */
  readonly afterUntrusted?: "ask" | "off";
}

/** What the session knows of a tool's server. */
export interface ServerFacts {
  /** The user's word that the server's hints are true. */
  readonly trustsAnnotations?: boolean;
  /** The user's word that what the server answers is no content from outside. */
  readonly trustsResults?: boolean;
  /** Where it runs, if not in the session's directory: its relative paths begin there. */
  readonly cwd?: string;
}

export interface ClearanceOptions {
  /** The mode `ask` without rules unless given. */
  policy?(): SessionPolicy;
  server?(tool: Pick<CatalogTool, "origin" | "source">): ServerFacts;
  /** What the lock of definitions has against a tool. */
  lock?(tool: ApprovalSubject): LockHold | undefined;
  /** Where grants and refusals outlive the session. */
  readonly store?: DecisionStore;
  /** For rules about directories; without it they are unclear, and so never allow. */
  readonly places?: {
    readonly files: Pick<Files, "find" | "linkTarget">;
    readonly cwd: string;
    readonly home?: string;
  };
  /** The protected files that a call would write. Never rejects. Without it none is protected. */
  protects?(call: CalledTool & { readonly cwd?: string }): Promise<readonly Finding[]>;
  /** Real path of a folder of the session; undefined when there is none. Never rejects. */
  folder?(path: string): Promise<string | undefined>;
  /** Which program or service a server is, see `ToolGrant.program`: without it grants last for the session. Never rejects. */
  program?(tool: Pick<CatalogTool, "origin" | "source">): Promise<string | undefined>;
  readonly platform?: NodeJS.Platform;
  /** What content from outside the session has read, for people; undefined when none. */
  outside?(): string | undefined;
  onMigrated?(report: MigrationReport): void;
}

/** What the policy decides about. */
export interface CalledTool {
  readonly tool: CatalogTool;
  /** As its source defines it, where the model is shown another form. */
  readonly raw?: ToolDefinition;
  readonly arguments: JsonObject;
}

/** All that is known of a call before anybody is asked about it. */
export interface JudgedCall {
  readonly subject: ApprovalSubject;
  readonly decision: PolicyDecision;
  readonly call: GrantedCall;
  /** Neither reads only nor stays on this machine, as far as is known. */
  readonly mayAct: boolean;
}

const DEFAULT_POLICY: SessionPolicy = { mode: "ask", mayBypass: false, rules: [] };
const ALLOWED: Approval = { kind: "allowed" };

export class Clearance {
  readonly approvals: Approvals;
  readonly #options: ClearanceOptions;
  readonly #programs = new Map<string, string | undefined>();

  constructor(log: Log, options: ClearanceOptions) {
    this.#options = options;
    this.approvals = new Approvals({
      log,
      ...defined({ store: options.store }),
      project: async () => (await options.folder?.(".")) ?? "",
      program: ({ origin, source }) => this.#programs.get(`${origin} ${source}`),
      onMigrated: (report) => options.onMigrated?.(report),
    });
  }

  /** Why the lock of definitions holds a tool back; undefined when exactly this definition was approved. */
  lockHold(subject: ApprovalSubject): LockHold | undefined {
    const hold = this.#options.lock?.(subject);
    return hold?.isReviewable && this.approvals.status(subject).kind === "approved" ? undefined : hold;
  }

  standing(subject: ApprovalSubject): ApprovalStatus {
    return this.approvals.status(subject);
  }

  /** Reads what was decided, and finds the programs of these tools' servers. Never rejects. */
  async load(subjects: readonly ApprovalSubject[]): Promise<void> {
    await this.approvals.load();
    const servers = new Map(subjects.map(({ origin, source }) => [`${origin} ${source}`, { origin, source }]));
    for (const [key, server] of servers) {
      if (server.origin === "builtin" || server.origin === "extra") continue;
      this.#programs.set(key, await this.#options.program?.(server));
    }
  }

  /** After `load`. */
  async judge(called: CalledTool, subject: ApprovalSubject): Promise<JudgedCall> {
    const { origin, definition } = subject;
    const { annotations } = definition;
    const { trustsAnnotations = false } = this.#facts(subject);
    const { readOnly, openWorld } = hintsOf({ origin, annotations, trustsAnnotations });
    const decision = await this.#decide(called);
    const call = await this.grantedCall(subject, called.arguments);
    return { subject, decision, call, mayAct: !readOnly || openWorld };
  }

  /** What "always" would mean for a call with these arguments. */
  async grantedCall(subject: ApprovalSubject, given: JsonObject): Promise<GrantedCall> {
    const { platform } = this.#options;
    const { origin, source, definition } = subject;
    const { path } = given;
    const folder =
      origin === "builtin" && definition.name === "run_command"
        ? await this.#options.folder?.(typeof path === "string" ? path : ".")
        : undefined;
    return grantedCall(subject, given, {
      project: this.approvals.project,
      folder,
      program: this.#programs.get(`${origin} ${source}`),
      ...defined({ platform }),
    });
  }

  /** Why a call is asked about that a grant, a rule or the mode would let through; undefined when none of that is so. */
  whyAsked({ subject, mayAct }: JudgedCall): string | undefined {
    const unreadable = this.approvals.unreadable(subject);
    if (unreadable !== undefined) return unreadable;
    const { afterUntrusted } = this.#policy();
    if (afterUntrusted !== "ask" || !mayAct || this.#isBypassed()) return undefined;
    const outside = this.#options.outside?.();
    if (outside === undefined) return undefined;
    return `this session has read ${outside}, and permissions.afterUntrusted is "ask"`;
  }

  /** Undefined when the person has to be asked. */
  withoutAsking(judged: JudgedCall): Approval | undefined {
    const { subject, decision, call } = judged;
    const { effect, rule, reason } = decision;
    if (effect === "deny") return { kind: "refused", reason };
    const standing = this.approvals.status(subject);
    if (standing.kind === "never") return { kind: "refused", reason: "the person said never to this tool" };
    const hold = this.lockHold(subject);
    if (hold && !hold.isReviewable) return { kind: "refused", reason: `it ${hold.reason}` };
    if (this.whyAsked(judged) !== undefined) return undefined;
    if (effect === "allow") {
      const isHeld = (standing.kind === "changed" && standing.isHeld) || hold !== undefined;
      if (isHeld && !this.#isBypassed()) return undefined;
      this.approvals.pin(subject);
      return ALLOWED;
    }
    // A rule that says ask is about these arguments, whatever was granted.
    if (rule !== undefined || hold !== undefined || standing.kind === "changed") return undefined;
    return this.approvals.covers(call) ? ALLOWED : undefined;
  }

  async record(judged: Pick<JudgedCall, "subject" | "call">, answer: ApprovalAnswer): Promise<void> {
    await this.approvals.record(judged.subject, answer, judged.call);
  }

  async #decide({ tool, raw = tool.definition, arguments: given }: CalledTool): Promise<PolicyDecision> {
    const { mode, mayBypass, rules } = this.#policy();
    const { trustsAnnotations = false, cwd } = this.#facts(tool);
    const { places, platform } = this.#options;
    const paths: PathTable = places
      ? await resolvePaths(rules, given, { ...places, ...defined({ toolCwd: cwd }) })
      : NO_PATHS;
    const { origin, source: server } = tool;
    const { name, annotations } = raw;
    const shell = platform === undefined ? {} : { platform };
    const decision = decide(
      {
        ...{ origin, server, tool: name, annotations, trustsAnnotations, arguments: given, paths, mode, mayBypass },
        ...shell,
      },
      rules,
    );
    if (decision.effect === "deny" || hintsOf({ origin, annotations, trustsAnnotations }).readOnly) return decision;
    const found = await this.#options.protects?.({
      tool,
      arguments: given,
      ...defined({ cwd }),
    });
    return underProtection(decision, found ?? [], {
      mode,
      mayBypass,
      cwd: cwd ?? places?.cwd ?? "/",
      home: places?.home,
    });
  }

  #isBypassed(): boolean {
    const { mode, mayBypass } = this.#policy();
    return mode === "bypass" && mayBypass;
  }

  #policy(): SessionPolicy {
    return this.#options.policy?.() ?? DEFAULT_POLICY;
  }

  #facts({ origin, source }: Pick<CatalogTool, "origin" | "source">): ServerFacts {
    return this.#options.server?.({ origin, source }) ?? {};
  }
}

/** One source of such content. */
export type OutsideRead =
  | { readonly kind: "page" }
  /** Without an origin: a resource, whose server is only named. */
  | { readonly kind: "server"; readonly server: string; readonly origin?: ToolOrigin };

/** Undefined for tools that bring nothing from outside. What a command prints is not counted: nobody knows where it is from. */
export function outsideRead({ origin, source, definition }: CatalogTool, given: JsonObject): OutsideRead | undefined {
  if (origin === "extra") return undefined;
  if (origin !== "builtin") return { kind: "server", server: source, origin };
  if (definition.name === "fetch_url") return { kind: "page" };
  if (definition.name !== "tenon_read_resource") return undefined;
  const { server } = given;
  return { kind: "server", server: typeof server === "string" ? server : "" };
}

export class OutsideReads {
  readonly #reads = new Map<string, OutsideRead>();
  readonly #isTrusted: (read: OutsideRead) => boolean;

  /** `isTrusted` is asked when it matters: the configuration may change. */
  constructor(restored: readonly OutsideRead[], isTrusted: (read: OutsideRead) => boolean) {
    this.#isTrusted = isTrusted;
    for (const read of restored) this.add(read);
  }

  note(tool: CatalogTool, given: JsonObject): void {
    const read = outsideRead(tool, given);
    if (read) this.add(read);
  }

  add(read: OutsideRead): void {
    this.#reads.set(JSON.stringify(read), read);
  }

  /** What was read, for people; undefined when nothing of it counts. */
  describe(): string | undefined {
    const read = [...this.#reads.values()].find((one) => one.kind === "page" || !this.#isTrusted(one));
    if (!read) return undefined;
    if (read.kind === "page") return "a web page";
    return read.server === "" ? "resources of servers" : `what the server ${markHidden(read.server)} answered`;
  }
}

const MAX_NAMES = 5;

export class LockGuard {
  #lock: ToolsLock | undefined;
  readonly #told = new Set<string>();

  /** What the project's file says now; undefined when there is none. */
  follow(lock: ToolsLock | undefined): void {
    this.#lock = lock;
  }

  /** What it has against a tool. Tools of Tenon and of the program around it change with these only. */
  holdOf(subject: ApprovalSubject): LockHold | undefined {
    if (!this.#lock || !isLockable(subject.origin)) return undefined;
    return lockHold(this.#lock, subject);
  }

  /** Whether it says anything about servers of that name that could be compared. */
  covers(source: string): boolean {
    return this.#lock !== undefined && isJsonObject(lockedServer(this.#lock, source));
  }

  /** Sentences about servers with tools that differ from it, each once for what it says. What cannot be read is told of as a file. */
  news(held: readonly SourcedTool[]): readonly string[] {
    const bySource = new Map<string, string[]>();
    for (const { tool, raw } of held) bySource.set(tool.source, [...(bySource.get(tool.source) ?? []), raw.name]);
    const file = this.#lock?.file ?? "";
    return [...bySource].map(([source, names]) => newsOf(file, source, names)).filter((text) => this.#isNew(text));
  }

  #isNew(text: string): boolean {
    return !this.#told.has(text) && this.#told.add(text).size > 0;
  }
}

function isLockable(origin: ToolOrigin): boolean {
  return origin !== "builtin" && origin !== "extra";
}

function newsOf(file: string, source: string, names: readonly string[]): string {
  const shown = names.slice(0, MAX_NAMES).join(", ");
  const more = names.length > MAX_NAMES ? ` and ${names.length - MAX_NAMES} more` : "";
  const what = names.length === 1 ? "1 tool" : `${names.length} tools`;
  const verb = names.length === 1 ? "differs from" : "differ from";
  return `${what} of "${source}" ${verb} ${file} and ${names.length === 1 ? "is" : "are"} held back until somebody looks: ${shown}${more}; tenon mcp diff shows how, tenon mcp lock ${source} accepts it`;
}

interface ProtectedFilesOptions {
  readonly world: World;
  readonly cwd: string;
  /** Where this host keeps its state, which an embedder may have moved. */
  readonly stateDir: string;
  /** How a call of Tenon's own tools looks; undefined for an unknown tool or arguments that cannot be read. */
  describe(tool: string, args: JsonObject): BuiltinPresentation | undefined;
}

type Protects = (call: CalledTool & { readonly cwd?: string }) => Promise<readonly Finding[]>;

export function protectedFiles(options: ProtectedFilesOptions): Protects {
  const { world, cwd } = options;
  const { HOME, USERPROFILE, XDG_CONFIG_HOME } = world.env;
  const home = HOME ?? USERPROFILE;
  const place: ProtectionPlace = {
    files: world.files,
    cwd,
    home,
    configHome: XDG_CONFIG_HOME,
    own: ownPlaces(options),
  };
  return async (call) => {
    const paths = writtenPaths(call, { ...options, cwd: call.cwd ?? cwd, home });
    if (paths.length === 0) return [];
    const about: JsonObject = { tool: call.tool.id, paths: paths.map(({ path }) => path) };
    const read = (recorded: JsonValue) => (Array.isArray(recorded) ? recorded.filter(isFinding) : undefined);
    const work = () => findProtected(paths, place);
    const isReplay = world.replay !== undefined;
    // A recording of an older version does not say: nothing was protected then.
    return await recorded(world, { ask: "protected", about, work, read }).catch((thrown: unknown) => {
      if (isReplay) return [];
      throw thrown;
    });
  };
}

/** Kinds of calls whose places are what they change. */
const CHANGES: readonly string[] = ["edit", "delete", "move"];

function writtenPaths(
  { tool, arguments: given }: CalledTool,
  options: ProtectedFilesOptions & { readonly home: string | undefined },
): readonly WrittenPath[] {
  const { cwd, home } = options;
  if (tool.origin !== "builtin") return pathsInArguments(given, { cwd, home });
  const looks = options.describe(tool.definition.name, given);
  if (looks?.kind === "execute") {
    const { path, ...rest } = given;
    const place = { cwd: typeof path === "string" ? resolve(cwd, path) : cwd, home };
    return [
      ...pathsInArguments({ in: path }, { cwd, home }),
      ...Object.values(rest).flatMap((value) => (typeof value === "string" ? pathsInCommand(value, place) : [])),
    ];
  }
  return looks && CHANGES.includes(looks.kind) ? looks.locations.map(({ path }) => ({ text: path, path })) : [];
}

/**
 * With `TENON_HOME` everything lies in one folder, and a person may have projects below it: there only the files directly
 * in it are the configuration.
 */
function ownPlaces({ world, stateDir }: Pick<ProtectedFilesOptions, "world" | "stateDir">): readonly OwnPlace[] {
  const { configFile, trustDir, stateDir: usual, cacheDir } = possiblePaths(world.env);
  const trees = [stateDir, usual, trustDir, cacheDir].filter((path) => path !== undefined);
  const isMoved = Boolean(world.env["TENON_HOME"]);
  return [
    ...trees.map((path): OwnPlace => ({ path, scope: "tree" })),
    ...(configFile === undefined
      ? []
      : [{ path: dirname(configFile), scope: isMoved ? ("files" as const) : ("tree" as const) }]),
  ];
}

function isFinding(value: JsonValue): value is JsonObject & Finding {
  return isJsonObject(value) && typeof value["path"] === "string" && isJsonObject(value["file"]);
}
