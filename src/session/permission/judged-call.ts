// Calls as they are judged before anybody is asked about them, and their tools as what is approved.
import { type Eventual, whenThere } from "../../base/async/eventual.js";
import { defined } from "../../base/json/defined.js";
import type { JsonObject } from "../../base/json/json.js";
import type { Files } from "../../base/ports/world.js";
import {
  type ApprovalRequest,
  type ApprovalSubject,
  approvalKey,
  type CatalogTool,
  decide,
  type Finding,
  type GrantedCall,
  type GrantFacts,
  grantedCall,
  hintsOf,
  NO_PATHS,
  type PathTable,
  type PermissionMode,
  type PolicyDecision,
  type PolicyRule,
  resolvePaths,
  type SourcedTool,
  type ToolOrigin,
  underProtection,
} from "../../tools/index.js";
import type { ServerFacts } from "../servers/entry.js";
import type { Protects } from "./guards.js";

/** All that is known of a call before anybody is asked about it. */
export class JudgedCall {
  readonly subject: ApprovalSubject;
  readonly decision: PolicyDecision;
  /** Neither reads only nor stays on this machine, as far as is known. */
  readonly mayAct: boolean;
  readonly #given: JsonObject;
  readonly #facts: GrantFacts;
  #call: GrantedCall | undefined;

  constructor(
    { subject, decision, mayAct }: Pick<JudgedCall, "subject" | "decision" | "mayAct">,
    given: JsonObject,
    facts: GrantFacts,
  ) {
    this.subject = subject;
    this.decision = decision;
    this.mayAct = mayAct;
    this.#given = given;
    this.#facts = facts;
  }

  /** What "always" would mean for it: most calls are let through without that. */
  get call(): GrantedCall {
    this.#call ??= grantedCall(this.subject, this.#given, this.#facts);
    return this.#call;
  }
}

/** Of tools that were looked at: calls come again. */
const subjects = new WeakMap<CatalogTool, ApprovalSubject>();

/** A tool of the catalog as what is approved: the form its source gave it. */
export function subjectOf({ tool, raw }: SourcedTool): ApprovalSubject {
  const known = subjects.get(tool);
  if (known?.definition === raw) return known;
  const subject = new Subject(tool, raw);
  subjects.set(tool, subject);
  return subject;
}

/** Its hash is made when it is first read: most tools are never decided on. */
class Subject implements ApprovalSubject {
  readonly #tool: CatalogTool;
  readonly origin: ToolOrigin;
  readonly source: string;
  readonly definition: ApprovalSubject["definition"];
  #key: string | undefined;

  constructor(tool: CatalogTool, raw: ApprovalSubject["definition"]) {
    this.#tool = tool;
    this.origin = tool.origin;
    this.source = tool.source;
    this.definition = raw;
  }

  get definitionHash(): string {
    return this.#tool.definitionHash;
  }

  get key(): string {
    const { origin, source: server } = this;
    this.#key ??= approvalKey({ origin, server, tool: this.definition.name });
    return this.#key;
  }
}

/** What the configuration says now; it may change between two calls. */
export interface SessionPolicy {
  readonly mode: PermissionMode;
  readonly mayBypass: boolean;
  /** In their order: command line, user, project. */
  readonly rules: readonly PolicyRule[];
  /** `ask`: after content from outside was read, tools that send or write are asked about whatever was granted. */
  readonly afterUntrusted?: "ask" | "off";
}

export type ServerOf = Pick<CatalogTool, "origin" | "source">;

export interface JudgeOptions {
  policy(): SessionPolicy;
  server?(tool: ServerOf): ServerFacts;
  /** For rules about directories; without it they are unclear, and so never allow. */
  readonly places?: {
    readonly files: Pick<Files, "find" | "linkTarget">;
    readonly cwd: string;
    readonly home?: string;
  };
  /** Never rejects. Without it no file is protected. */
  readonly protects?: Protects;
  /** Real path of a folder of the session; undefined when there is none. Never rejects. */
  folder?(path: string): Promise<string | undefined>;
  readonly platform?: NodeJS.Platform;
}

type JudgedRequest = Pick<ApprovalRequest, "tool" | "arguments"> & Partial<Pick<ApprovalRequest, "raw">>;

/** What is known of a call before it is a `JudgedCall`. */
type Judged = Pick<JudgedCall, "subject" | "decision" | "mayAct">;

/** What rules, hints, the mode and protected files say of calls. */
export class CallJudge {
  readonly #options: JudgeOptions;
  readonly #grantFacts: (subject: ApprovalSubject) => GrantFacts;

  constructor(options: JudgeOptions, grantFacts: (subject: ApprovalSubject) => GrantFacts) {
    this.#options = options;
    this.#grantFacts = grantFacts;
  }

  /** Every call comes through here: what is there at once is not waited for, and written out instead of copied. */
  judge(request: JudgedRequest): Eventual<JudgedCall> {
    const { places } = this.#options;
    const { rules } = this.#options.policy();
    if (!places || !rules.some(isAboutPlaces)) return this.#judgeAt(request, NO_PATHS);
    return this.#judgeAtPlaces(request, rules, places);
  }

  async #judgeAtPlaces(
    request: JudgedRequest,
    rules: readonly PolicyRule[],
    places: NonNullable<JudgeOptions["places"]>,
  ): Promise<JudgedCall> {
    const { cwd: toolCwd } = this.#options.server?.(request.tool) ?? {};
    const paths = await resolvePaths(rules, request.arguments, { ...places, ...defined({ toolCwd }) });
    return await this.#judgeAt(request, paths);
  }

  #judgeAt(request: JudgedRequest, paths: PathTable): Eventual<JudgedCall> {
    const { tool, raw = tool.definition, arguments: given } = request;
    const { platform, protects } = this.#options;
    const { mode, mayBypass, rules } = this.#options.policy();
    const { origin, source: server } = tool;
    const { name, annotations } = raw;
    const { trustsAnnotations = false, cwd, isOfClient } = this.#options.server?.(tool) ?? {};
    const { readOnly, openWorld } = hintsOf({ origin, annotations, trustsAnnotations });
    const decision = decide(
      {
        origin,
        server,
        tool: name,
        annotations,
        trustsAnnotations,
        arguments: given,
        paths,
        mode,
        mayBypass,
        platform,
        isOfClient,
      },
      rules,
    );
    const mayWrite = decision.effect !== "deny" && !readOnly;
    const judged = { subject: subjectOf({ tool, raw }), decision, mayAct: !readOnly || openWorld };
    const finding = mayWrite ? protects?.({ tool, arguments: given, cwd }) : undefined;
    return finding instanceof Promise
      ? this.#judgeOnceFound(judged, finding, cwd, given)
      : this.#judgedCall(this.#protected(judged, finding, cwd), given);
  }

  async #judgeOnceFound(
    judged: Judged,
    finding: Promise<readonly Finding[]>,
    cwd: string | undefined,
    given: JsonObject,
  ): Promise<JudgedCall> {
    return await this.#judgedCall(this.#protected(judged, await finding, cwd), given);
  }

  #protected(judged: Judged, found: readonly Finding[] | undefined, cwd: string | undefined): Judged {
    if (!found || found.length === 0) return judged;
    const { places } = this.#options;
    const { mode, mayBypass } = this.#options.policy();
    const place = { mode, mayBypass, cwd: cwd ?? places?.cwd ?? "/", home: places?.home };
    return { ...judged, decision: underProtection(judged.decision, found, place) };
  }

  #judgedCall(judged: Judged, given: JsonObject): Eventual<JudgedCall> {
    const { subject } = judged;
    const { origin, definition } = subject;
    const facts = this.#grantFacts(subject);
    if (origin !== "builtin" || definition.name !== "run_command") return new JudgedCall(judged, given, facts);
    return this.#judgedCommand(judged, given, facts);
  }

  #judgedCommand(judged: Judged, given: JsonObject, facts: GrantFacts): Eventual<JudgedCall> {
    const path = typeof given["path"] === "string" ? given["path"] : ".";
    return whenThere(this.#options.folder?.(path), (folder) => new JudgedCall(judged, given, { ...facts, folder }));
  }
}

function isAboutPlaces({ arguments: conditions }: PolicyRule): boolean {
  return conditions?.some((condition) => "under" in condition) ?? false;
}
