// A call as it was judged before anybody is asked about it, and its tool as what is approved.
import type { JsonObject } from "../../base/json/json.js";
import {
  type ApprovalSubject,
  approvalKey,
  type CatalogTool,
  type GrantedCall,
  type GrantFacts,
  grantedCall,
  type PolicyDecision,
  type SourcedTool,
  type ToolOrigin,
} from "../../tools/index.js";

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
