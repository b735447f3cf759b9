// What the person has decided, as one session knows it: grants, refusals, and the definitions tools were used with.
import { isAbsolute, relative } from "node:path";
import type { Eventual } from "../../base/async/eventual.js";
import { messageOf } from "../../base/errors.js";
import { unreachable } from "../../base/id.js";
import { defined } from "../../base/json/defined.js";
import { hashJson, type JsonObject } from "../../base/json/json.js";
import type { Log } from "../../base/ports/world.js";
import { markHidden } from "../../base/text/marking.js";
import { isUrl } from "../../base/text/url.js";
import type { ToolDefinition, ToolOrigin } from "../tool.js";
import { type CommandPattern, commandPattern, coversCommand, type ParsedCommand, parseCommand } from "./command.js";
import { EDIT_TOOLS, FETCH_URL, RUN_COMMAND } from "./decide.js";
import { definitionData, definitionDifference } from "./lock.js";

/** `always` is the one grant that the question offers. `never` is for the tool, whatever it becomes. */
export type ApprovalAnswer = "once" | "always" | "no" | "never";

/** Whether the person has approved a tool. */
export type ApprovalStatus =
  | { readonly kind: "new" }
  /** This definition is granted in this project, or was let through for the session. */
  | { readonly kind: "approved" }
  | { readonly kind: "never"; readonly decidedAt?: string }
  /** It was approved with another definition. `difference` is for people, a line each. */
  | { readonly kind: "changed"; readonly difference: readonly string[]; readonly isHeld: boolean };

export interface ApprovalsOptions {
  readonly log: Log;
  /** Without one nothing outlives the session. */
  readonly store?: DecisionStore;
  /** Real path of the session's folder. Never rejects. */
  project(): Promise<string>;
  /** See `ToolGrant`. Undefined for a server that cannot be distinguished from another one of the same name. */
  program?(subject: Pick<ApprovalSubject, "origin" | "source">): string | undefined;
  onMigrated?(report: MigrationReport): void;
}

interface Accepted {
  readonly hash: string;
  readonly definition: JsonObject | undefined;
  /** It may run without asking in this session. */
  readonly isApproved: boolean;
  /** Seen to be in force in this session: a change from now on holds it back. */
  readonly isPinned: boolean;
}

export class Approvals {
  readonly #options: ApprovalsOptions;
  /** Real path of the session's folder; empty until it is loaded. */
  project = "";
  readonly #accepted = new Map<string, Accepted>();
  /** With when it was said, if that is known. */
  readonly #refused = new Map<string, string | undefined>();
  #former: Map<string, FormerApproval> | undefined;
  /** By id. */
  readonly #grants = new Map<string, OfferedGrant>();
  #problems: readonly DecisionProblem[] = [];
  #loading: Promise<undefined> | undefined;
  #isLoaded = false;

  constructor(options: ApprovalsOptions) {
    this.#options = options;
  }

  /** Reads what was decided, once. Before that nothing of it counts. Never rejects. */
  load(): Eventual<undefined> {
    if (this.#isLoaded) return undefined;
    this.#loading ??= this.#read();
    return this.#loading;
  }

  /** What is in force in this session now. */
  get grants(): readonly OfferedGrant[] {
    return [...this.#grants.values()];
  }

  /**
   * Why the decision about a tool is not known, and what to do: an unreadable file may hold a `never`.
   * Undefined when everything about it could be read.
   */
  unreadable(subject: ApprovalSubject): string | undefined {
    if (this.#problems.length === 0) return undefined;
    const id = decisionId(refusalOf(subject));
    const problem = this.#problems.find((one) => one.id === undefined || one.id === id);
    if (!problem) return undefined;
    return `a decision about it may be kept in ${problem.file}, which cannot be read (${problem.reason}): make it readable, or remove it`;
  }

  status(subject: ApprovalSubject): ApprovalStatus {
    const key = keyOf(subject);
    const refusedAt = this.#refused.get(key);
    if (this.#refused.has(key)) return { kind: "never", ...defined({ decidedAt: refusedAt }) };
    const accepted = this.#acceptedOf(subject);
    if (!accepted) return { kind: "new" };
    if (accepted.hash === subject.definitionHash) return { kind: accepted.isApproved ? "approved" : "new" };
    const difference = definitionDifference(accepted.definition, subject.definition);
    return { kind: "changed", difference, isHeld: accepted.isPinned };
  }

  /** Whether a grant covers the call. */
  covers(call: GrantedCall): boolean {
    return this.grants.some((grant) => coversCall(grant, call));
  }

  /** The person allowed this tool in every project, before grants were for one. */
  wasApprovedBefore(subject: ApprovalSubject): boolean {
    return this.#former?.has(keyOf(subject)) ?? false;
  }

  /** Nothing was decided about any tool: then none can have changed since. */
  get isEmpty(): boolean {
    return this.#accepted.size === 0 && this.#grants.size === 0 && (this.#former?.size ?? 0) === 0;
  }

  /**
   * Whether the tool was in force in this session with another definition: until that is approved, a model should not
   * even read it. A change between two sessions only asks again. Cheap: a hash is read only of tools decided on.
   */
  isHeld(subject: ApprovalSubject): boolean {
    const accepted = this.#acceptedOf(subject);
    if (!accepted) return false;
    if (accepted.hash !== subject.definitionHash) return accepted.isPinned;
    if (accepted.isApproved && !accepted.isPinned) this.#accepted.set(keyOf(subject), { ...accepted, isPinned: true });
    return false;
  }

  /** It runs without the person being asked (a rule, a mode): from now on a change of its definition is noticed. */
  pin(subject: ApprovalSubject): void {
    if (subject.origin === "builtin") return; // changes with Tenon itself only
    const known = this.#acceptedOf(subject);
    const isSame = known?.hash === subject.definitionHash;
    if (isSame && known.isPinned) return;
    const isApproved = isSame && known.isApproved;
    this.#take(subject, isApproved, true);
  }

  /** A changed definition was looked at, and may be used in this session. */
  accept(subject: ApprovalSubject): void {
    this.#take(subject, true, true);
  }

  #take(subject: ApprovalSubject, isApproved: boolean, isPinned: boolean): void {
    const definition = definitionData(subject.definition);
    this.#accepted.set(keyOf(subject), { hash: subject.definitionHash, definition, isApproved, isPinned });
  }

  /** Remembers an answer about a call. Never rejects: what cannot be kept counts for the session. */
  async record(subject: ApprovalSubject, answer: ApprovalAnswer, { offer }: GrantedCall = {}): Promise<void> {
    switch (answer) {
      case "no":
        return;
      case "never":
        this.#refused.set(keyOf(subject), undefined);
        await this.#keep(refusalOf(subject));
        return await this.#forgetFormer(subject);
      case "once": {
        // What was approved stays so, and what changed stays held: the next one is compared with what was let through last.
        const known = this.#acceptedOf(subject);
        if (known?.isApproved || known?.isPinned || subject.origin === "builtin") return;
        return this.#take(subject, false, false);
      }
      case "always":
        if (!offer) return;
        await this.grant(offer, subject);
        return await this.#forgetFormer(subject);
    }
  }

  /** Puts a grant in force, and keeps it where it outlives the session. Never rejects. */
  async grant(offer: OfferedGrant, subject: ApprovalSubject): Promise<void> {
    this.#grants.set(grantId(offer), offer);
    if (offer.kind === "tool" || offer.kind === "session_tool") this.accept(subject);
    if (offer.kind === "tool") await this.#keep({ ...offer, definition: definitionData(subject.definition) });
    else if (offer.kind === "command" || offer.kind === "site") await this.#keep(offer);
  }

  /** Everything that is kept, for `/permissions`. Never rejects. */
  async kept(): Promise<readonly KeptDecision[]> {
    return (await this.#options.store?.load(await this.#options.project()))?.decisions ?? [];
  }

  /** Takes a decision back, in this session too. Rejects when the store cannot remove it. */
  async revoke({ id, decision }: KeptDecision): Promise<void> {
    await this.#options.store?.remove(id);
    if (decision.kind === "never") this.#refused.delete(approvalKey(decision));
    else if (decision.kind === "former") this.#former?.delete(approvalKey(decision));
    else this.forget(decision);
  }

  /** Ends a grant in this session. */
  forget(grant: OfferedGrant): void {
    this.#grants.delete(grantId(grant));
    if (grant.kind !== "tool" && grant.kind !== "session_tool") return;
    const key = approvalKey(grant);
    const known = this.#accepted.get(key);
    if (known) this.#accepted.set(key, { ...known, isApproved: false });
  }

  /** Of a source that another one takes the name of: what the session allowed and saw of it counts no more. */
  forgetSource({ origin, server }: Pick<ToolName, "origin" | "server">): void {
    for (const [id, grant] of this.#grants) {
      const isOfName = (grant.kind === "session_tool" || grant.kind === "resources") && grant.server === server;
      if (isOfName && (grant.kind === "resources" || grant.origin === origin)) this.#grants.delete(id);
    }
    const prefix = approvalKey({ origin, server, tool: "" });
    for (const key of this.#accepted.keys()) if (key.startsWith(prefix)) this.#accepted.delete(key);
  }

  async #forgetFormer(subject: ApprovalSubject): Promise<void> {
    const former = this.#former?.get(keyOf(subject));
    if (!former) return;
    this.#former?.delete(keyOf(subject));
    try {
      await this.#options.store?.remove(decisionId(former));
    } catch (error) {
      this.#options.log.warn("decision.not_removed", { server: former.server, error: messageOf(error) });
    }
  }

  async #keep(decision: Decision): Promise<void> {
    const { store, log } = this.#options;
    try {
      await store?.keep(decision);
    } catch (error) {
      log.warn("decision.not_kept", { kind: decision.kind, error: messageOf(error) });
    }
  }

  async #read(): Promise<undefined> {
    this.project = await this.#options.project();
    await this.#readStore();
    this.#isLoaded = true;
  }

  async #readStore(): Promise<void> {
    const { store, log } = this.#options;
    if (!store) return;
    try {
      const { decisions, problems, migrated } = await store.load(this.project);
      this.#problems = problems;
      for (const { decision, decidedAt } of decisions) {
        if (decision.kind === "never") this.#refused.set(approvalKey(decision), decidedAt);
        else if (decision.kind === "former") (this.#former ??= new Map()).set(approvalKey(decision), decision);
        else this.#grants.set(grantId(decision), decision);
      }
      if (migrated) this.#options.onMigrated?.(migrated);
    } catch (error) {
      this.#problems = [{ file: "the store of decisions", reason: messageOf(error) }];
      log.warn("decision.not_read", { error: messageOf(error) });
    }
  }

  /** What this session knows of the tool's definition, else the latest grant of it or the approval of before. */
  #acceptedOf(subject: ApprovalSubject): Accepted | undefined {
    const key = keyOf(subject);
    const known = this.#accepted.get(key);
    if (known) return known;
    const mine = this.grants
      .filter((grant) => grant.kind === "tool")
      .filter((grant) => approvalKey(grant) === key && grant.program === this.#options.program?.(subject));
    const granted = mine.find((grant) => grant.definitionHash === subject.definitionHash) ?? mine.at(-1);
    const found = granted ?? this.#former?.get(key);
    if (!found) return undefined;
    const { definitionHash: hash, definition } = found;
    return { hash, definition, isApproved: granted !== undefined, isPinned: false };
  }
}

function keyOf({ origin, source, definition, key }: ApprovalSubject): string {
  return key ?? approvalKey({ origin, server: source, tool: definition.name });
}

/** By which decisions about a tool are found, see `ApprovalSubject`. */
export function approvalKey({ origin, server, tool }: ToolName): string {
  return `${origin}\0${server}\0${tool}`;
}

/** A tool as its source defines it. */
export interface ApprovalSubject {
  readonly origin: ToolOrigin;
  /** Name of the source. */
  readonly source: string;
  readonly definition: ToolDefinition;
  readonly definitionHash: string;
  /** What `approvalKey` says of it, where that was asked before: every call asks several times. */
  readonly key?: string;
}

/** A command in one folder of one project. */
interface CommandGrant extends CommandPattern {
  readonly kind: "command";
  /** Real path of the session's folder. */
  readonly project: string;
  /** Real path of the folder the command runs in. */
  readonly folder: string;
}

/** `fetch_url` of any page of one site (scheme, host and port), in one project. */
type SiteGrant = { readonly kind: "site"; readonly project: string; readonly site: string };

/** A tool of a server, by the server's own name for it. */
interface ToolName {
  readonly origin: ToolOrigin;
  readonly server: string;
  readonly tool: string;
}

/** A server's tool as it was defined, in one project, while the server is started or reached in the same way. */
export interface ToolGrant extends ToolName {
  readonly kind: "tool";
  readonly project: string;
  /** Hash of how the server is launched and of the real path of its program. */
  readonly program: string;
  readonly definitionHash: string;
  /** To show what changed; left out when it was too large. */
  readonly definition?: JsonObject;
}

/** Grants that outlive a session. */
export type PermissionGrant = CommandGrant | SiteGrant | ToolGrant;

/** Grants that end with the session, and are never written anywhere. */
type SessionGrant =
  /** `write_file` and `edit_file`; protected files are asked about all the same. */
  | { readonly kind: "edits" }
  /** Resources of one server. */
  | { readonly kind: "resources"; readonly server: string }
  /** `program` as in `ToolGrant`, where it is known. */
  | (ToolName & { readonly kind: "session_tool"; readonly definitionHash: string; readonly program?: string });

export type OfferedGrant = PermissionGrant | SessionGrant;

/** A call as grants see it. */
export interface GrantedCall {
  /** What "always" would be; undefined where the call may only be allowed once. */
  readonly offer?: OfferedGrant;
  readonly command?: ParsedCommand;
}

const READ_RESOURCE = "tenon_read_resource";

/** The server whose resources a call of this tool of Tenon's own is about, if it names one. */
export function resourcesOf(tool: string, { server }: JsonObject): string | undefined {
  return tool === READ_RESOURCE && typeof server === "string" && server !== "" ? server : undefined;
}

export interface GrantFacts {
  /** Real path of the session's folder. */
  readonly project: string;
  /** Real path of the folder a command would run in, if there is one. */
  readonly folder?: string | undefined;
  /** As in `ToolGrant`; undefined for a server that cannot be distinguished from another one of the same name. */
  readonly program?: string | undefined;
  readonly platform?: NodeJS.Platform | undefined;
}

export function grantedCall(
  { origin, source: server, definition: { name: tool }, definitionHash }: ApprovalSubject,
  given: JsonObject,
  { project, folder, program, platform }: GrantFacts,
): GrantedCall {
  const inSession: GrantedCall = { offer: { kind: "session_tool", origin, server, tool, definitionHash } };
  if (origin !== "builtin") {
    if (origin === "extra" || program === undefined) return inSession;
    return { offer: { kind: "tool", project, origin, server, program, tool, definitionHash } };
  }
  if (tool === RUN_COMMAND) {
    const { command } = given;
    if (typeof command !== "string" || folder === undefined) return {};
    const parsed = parseCommand(command, platform);
    const pattern = commandPattern(parsed);
    const offer: OfferedGrant | undefined = pattern && { kind: "command", project, folder, ...pattern };
    return { command: parsed, ...defined({ offer }) };
  }
  if (EDIT_TOOLS.includes(tool)) return { offer: { kind: "edits" } };
  if (tool === FETCH_URL) {
    const { url } = given;
    if (typeof url !== "string" || !isUrl(url)) return {};
    const { origin: site, username, password } = new URL(url);
    const isOpen = site !== "null" && username === "" && password === "";
    return isOpen ? { offer: { kind: "site", project, site } } : {};
  }
  if (tool === READ_RESOURCE) {
    const of = resourcesOf(tool, given); // all servers at once are never granted: others may join
    return of === undefined ? {} : { offer: { kind: "resources", server: of } };
  }
  return inSession;
}

function coversCall(grant: OfferedGrant, { offer, command }: GrantedCall): boolean {
  if (grant.kind === "command") {
    if (offer?.kind !== "command" || !command) return false;
    return grant.project === offer.project && grant.folder === offer.folder && coversCommand(grant, command);
  }
  if (grant.kind === "session_tool" && offer?.kind === "tool") {
    return grantId(grant) === grantId(forSession(offer));
  }
  return offer !== undefined && grantId(grant) === grantId(offer);
}

/** The same tool, for the rest of the session only. */
export function forSession({ origin, server, program, tool, definitionHash }: ToolGrant): SessionGrant {
  return { kind: "session_tool", origin, server, tool, definitionHash, program };
}

/** The same for the same grant. */
export function grantId(grant: OfferedGrant): string {
  const { definition: _, ...identity }: OfferedGrant & { readonly definition?: JsonObject } = grant;
  return hashJson({ ...identity }).slice(0, 32);
}

/** Exactly what the grant covers, for the option of a question and for lists. */
export function grantLabel(grant: OfferedGrant): string {
  switch (grant.kind) {
    case "command": {
      const { project, folder } = grant;
      const way = relative(project, folder);
      const shown = named(way.startsWith("..") || isAbsolute(way) ? folder : way);
      const where = folder === project ? "in this project" : `in ${shown} of this project`;
      const words = named(grant.words.join(" "), 200);
      if (grant.isExact) return `Always allow exactly "${words}" ${where}`;
      return `Always allow "${words}" ${where}, with any names or relative paths and without options`;
    }
    case "site":
      return `Always allow fetching any page of ${named(grant.site)} in this project`;
    case "tool":
      return `Always allow ${named(grant.server)} / ${named(grant.tool)} in this project, as it is defined now`;
    case "edits":
      return "Allow file edits for the rest of this session, except of protected files";
    case "resources":
      return `Allow reading resources of ${named(grant.server)} for the rest of this session`;
    case "session_tool":
      return `Allow ${named(grant.server)} / ${named(grant.tool)} for the rest of this session`;
    default:
      return unreachable(grant);
  }
}

export function neverLabel({ origin, source, definition }: ApprovalSubject): string {
  const tool = named(definition.name);
  return origin === "builtin"
    ? `Never allow ${tool}, in any project`
    : `Never allow ${named(source)} / ${tool}, in any project`;
}

/** Names of servers and tools are the server's words: one line, nothing hidden. */
function named(text: string, maxChars = 80): string {
  const line = markHidden(text.replaceAll(/\s+/gu, " "));
  return line.length > maxChars ? `${line.slice(0, maxChars)}… (${line.length - maxChars} more characters)` : line;
}

// What a person decided for longer than one call, and the port it is kept behind.
/** For a tool whatever its definition, its server's program or the project: else a server could ask again by changing. */
export interface Refusal extends ToolName {
  readonly kind: "never";
}

/** An `always` of before grants were for one project. It allows nothing: the next question about the tool mentions it. */
export interface FormerApproval extends ToolName, Pick<ToolGrant, "definitionHash" | "definition"> {
  readonly kind: "former";
}

export type Decision = PermissionGrant | Refusal | FormerApproval;

export interface KeptDecision {
  /** What `remove` takes. */
  readonly id: string;
  readonly decision: Decision;
  /** ISO 8601. */
  readonly decidedAt: string;
}

/** Something that was decided and cannot be read. */
export interface DecisionProblem {
  readonly file: string;
  readonly reason: string;
  /** The decision it was; undefined when it may be any, also a `never`. */
  readonly id?: string;
}

/** The result of the migration of older approvals, reported once. */
export interface MigrationReport {
  readonly never: number;
  /** To be confirmed for the project of their first use. */
  readonly former: number;
  readonly lapsed: number;
  /** Where the old records are kept. */
  readonly backup: string;
}

export interface LoadedDecisions {
  readonly decisions: readonly KeptDecision[];
  readonly problems: readonly DecisionProblem[];
  /** Set for the one reader that brought old approvals over. */
  readonly migrated?: MigrationReport;
}

/** Where decisions outlive a session. */
export interface DecisionStore {
  /** Grants of one project, and every refusal and former approval; all grants without a project. Never rejects. */
  load(project?: string): Promise<LoadedDecisions>;
  /** Rejects when it cannot be kept. The same decision twice is kept once. */
  keep(decision: Decision): Promise<void>;
  /** Rejects when it cannot be removed; one that is not there is no error. */
  remove(id: string): Promise<void>;
}

export function decisionId(decision: Decision): string {
  if (decision.kind !== "never" && decision.kind !== "former") return `grant-${grantId(decision)}`;
  const { kind, origin, server, tool } = decision;
  return `${kind}-${hashJson({ origin, server, tool }).slice(0, 32)}`;
}

function refusalOf({ origin, source, definition }: ApprovalSubject): Refusal {
  return { kind: "never", origin, server: source, tool: definition.name };
}
