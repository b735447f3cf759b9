// What a person's "always" covers, as plain data: which grant a call is offered, what its label says, and whether a grant covers a call.
import { isAbsolute, relative } from "node:path";
import { unreachable } from "../../base/id.js";
import { defined } from "../../base/json/defined.js";
import { hashJson } from "../../base/json/hash.js";
import type { JsonObject } from "../../base/json/json.js";
import { markHidden } from "../../base/text/marking.js";
import type { ToolDefinition, ToolOrigin } from "../tool.js";
import { type CommandPattern, commandPattern, coversCommand, type ParsedCommand, parseCommand } from "./command.js";
import { EDIT_TOOLS, FETCH_URL, RUN_COMMAND } from "./rule.js";

/** A tool as its source defines it. */
export interface ApprovalSubject {
  readonly origin: ToolOrigin;
  /** Name of the source. */
  readonly source: string;
  readonly definition: ToolDefinition;
  readonly definitionHash: string;
}

/** A command in one folder of one project. */
export interface CommandGrant extends CommandPattern {
  readonly kind: "command";
  /** Real path of the session's folder. */
  readonly project: string;
  /** Real path of the folder the command runs in. */
  readonly folder: string;
}

/** `fetch_url` of any page of one site, in one project. */
export interface SiteGrant {
  readonly kind: "site";
  readonly project: string;
  /** Scheme, host and port. */
  readonly site: string;
}

/** A server's tool as it was defined, in one project, while the server is started or reached in the same way. */
export interface ToolGrant {
  readonly kind: "tool";
  readonly project: string;
  readonly origin: ToolOrigin;
  readonly server: string;
  /** Hash of how the server is launched and of the real path of its program. */
  readonly program: string;
  readonly tool: string;
  readonly definitionHash: string;
  /** To show what changed; left out when it was too large. */
  readonly definition?: JsonObject;
}

/** Grants that outlive a session. */
export type PermissionGrant = CommandGrant | SiteGrant | ToolGrant;

/** Grants that end with the session, and are never written anywhere. */
export type SessionGrant =
  /** `write_file` and `edit_file`; protected files are asked about all the same. */
  | { readonly kind: "edits" }
  /** Resources of one server. */
  | { readonly kind: "resources"; readonly server: string }
  | {
      readonly kind: "session_tool";
      readonly origin: ToolOrigin;
      readonly server: string;
      readonly tool: string;
      readonly definitionHash: string;
      /** As in `ToolGrant`, where it is known. */
      readonly program?: string;
    };

export type OfferedGrant = PermissionGrant | SessionGrant;

export interface GrantPlace {
  /** Real path of the session's folder. */
  readonly project: string;
  /** Real path of the folder a command would run in; undefined when there is none. */
  readonly folder?: string | undefined;
  /** See `ToolGrant`; undefined for a server that cannot be distinguished from another one of the same name. */
  readonly program?: string | undefined;
  readonly platform?: NodeJS.Platform;
}

/** A call as grants see it. */
export interface GrantedCall {
  /** What "always" would be; undefined where the call may only be allowed once. */
  readonly offer?: OfferedGrant;
  readonly command?: ParsedCommand;
}

const READ_RESOURCE = "tenon_read_resource";

export function grantedCall(subject: ApprovalSubject, given: JsonObject, place: GrantPlace): GrantedCall {
  const { origin, source: server, definition, definitionHash } = subject;
  const { project, folder, program } = place;
  const tool = definition.name;
  if (origin !== "builtin") {
    if (origin === "extra" || program === undefined) {
      return { offer: { kind: "session_tool", origin, server, tool, definitionHash } };
    }
    return { offer: { kind: "tool", project, origin, server, program, tool, definitionHash } };
  }
  if (tool === RUN_COMMAND) {
    const { command } = given;
    if (typeof command !== "string" || folder === undefined) return {};
    const parsed = parseCommand(command, place.platform);
    const pattern = commandPattern(parsed);
    return {
      command: parsed,
      ...defined({ offer: pattern ? { kind: "command", project, folder, ...pattern } : undefined }),
    };
  }
  if (EDIT_TOOLS.includes(tool)) return { offer: { kind: "edits" } };
  if (tool === FETCH_URL) {
    const site = siteOf(given["url"]);
    return site === undefined ? {} : { offer: { kind: "site", project, site } };
  }
  if (tool === READ_RESOURCE) {
    const of = given["server"];
    return typeof of === "string" ? { offer: { kind: "resources", server: of } } : {};
  }
  return { offer: { kind: "session_tool", origin, server, tool, definitionHash } };
}

function siteOf(url: unknown): string | undefined {
  if (typeof url !== "string" || !URL.canParse(url)) return undefined;
  const { origin, username, password } = new URL(url);
  return origin === "null" || username !== "" || password !== "" ? undefined : origin;
}

export function coversCall(grant: OfferedGrant, { offer, command }: GrantedCall): boolean {
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
  if (grant.kind !== "tool") return hashJson({ ...grant }).slice(0, 32);
  const { definition: _, ...identity } = grant;
  return hashJson({ ...identity }).slice(0, 32);
}

export function isLasting(grant: OfferedGrant): grant is PermissionGrant {
  return grant.kind === "command" || grant.kind === "site" || grant.kind === "tool";
}

/** Exactly what the grant covers, for the option of a question and for lists. */
export function grantLabel(grant: OfferedGrant): string {
  switch (grant.kind) {
    case "command": {
      const where = placeWords(grant);
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

function placeWords({ project, folder }: CommandGrant): string {
  if (folder === project) return "in this project";
  const way = relative(project, folder);
  return `in ${named(way.startsWith("..") || isAbsolute(way) ? folder : way)} of this project`;
}

/** Names of servers and tools are the server's words: one line, nothing hidden. */
function named(text: string, maxChars = 80): string {
  const line = markHidden(text.replaceAll(/\s+/gu, " "));
  return line.length > maxChars ? `${line.slice(0, maxChars)}… (${line.length - maxChars} more characters)` : line;
}

// What a person decided for longer than one call, and the port it is kept behind.
/** For a tool whatever its definition, its server's program or the project: else a server could ask again by changing. */
export interface Refusal {
  readonly kind: "never";
  readonly origin: ToolOrigin;
  readonly server: string;
  readonly tool: string;
}

/** An `always` of before grants were for one project. It allows nothing: the next question about the tool mentions it. */
export interface FormerApproval {
  readonly kind: "former";
  readonly origin: ToolOrigin;
  readonly server: string;
  readonly tool: string;
  readonly definitionHash: string;
  readonly definition?: JsonObject;
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
  switch (decision.kind) {
    case "never":
      return `never-${subjectHash(decision)}`;
    case "former":
      return `former-${subjectHash(decision)}`;
    default:
      return `grant-${grantId(decision)}`;
  }
}

export function refusalOf({ origin, source, definition }: ApprovalSubject): Refusal {
  return { kind: "never", origin, server: source, tool: definition.name };
}

function subjectHash({ origin, server, tool }: Pick<Refusal, "origin" | "server" | "tool">): string {
  return hashJson({ origin, server, tool }).slice(0, 32);
}
