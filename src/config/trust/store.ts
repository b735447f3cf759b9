// What the person decided about projects' entries. One small file per decision, so that two processes never write the same one.

import { join } from "node:path";
import { messageOf, orFail, TenonError } from "../../base/errors.js";
import { defined } from "../../base/json/defined.js";
import { hashJson, parseObject } from "../../base/json/json.js";
import type { World } from "../../base/ports/world.js";
import type { Problem } from "../layers/read-layer.js";
import type { TrustQuestion } from "./project.js";

export interface TrustRecord {
  readonly decision: "approved" | "denied";
  readonly hash: string;
  /** The project's real path when it was decided. */
  readonly project: string;
  /** Undefined for the project's settings. */
  readonly server?: string;
  /** ISO 8601. */
  readonly decidedAt: string;
}

export interface TrustVerdict {
  readonly decision: "approved" | "denied" | "undecided";
  /** Something else of this name was decided on in this project. */
  readonly isChanged: boolean;
  /** It was approved before approvals covered the program's real path and content. */
  readonly isOutdated?: boolean;
  readonly problems: readonly Problem[];
}

const NAME = /^([0-9a-f]{16})-([0-9a-f]{64})\.json$/u;

export class TrustStore {
  readonly #world: World;
  readonly #folder: string | undefined;

  /** `folder` is `tenonPaths().trustDir`; without one nothing is trusted. */
  constructor(world: World, folder: string | undefined) {
    this.#world = world;
    this.#folder = folder;
  }

  /** Never rejects: what cannot be read is not trusted, with a problem. */
  async verdictOn(question: TrustQuestion): Promise<TrustVerdict> {
    if (this.#folder === undefined) return { decision: "undecided", isChanged: false, problems: [] };
    const subject = subjectOf(question);
    const names = (await this.#world.files.list(this.#folder)).map(({ name }) => name);
    const isChanged = names.some((name) => {
      const [, key, hash] = NAME.exec(name) ?? [];
      return key === subject && hash !== question.hash && hash !== question.formerHash;
    });
    const path = join(this.#folder, nameOf(question));
    const read = await this.#read(path);
    if (read === undefined) return { ...(await this.#former(question)), isChanged };
    const undecided = (message: string): TrustVerdict => {
      return { decision: "undecided", isChanged, problems: [problemAt(path, message)] };
    };
    if ("message" in read) return undecided(read.message);
    const isSame = read.hash === question.hash && read.project === question.project && read.server === question.server;
    if (!isSame) return undecided("this decision is about something else than its name says; it does not count");
    return { decision: read.decision, isChanged, problems: [] };
  }

  /** A denial in the earlier form still counts; an approval does not, since it covered less. */
  async #former(question: TrustQuestion): Promise<Omit<TrustVerdict, "isChanged">> {
    const { formerHash } = question;
    const path = formerHash && join(this.#home(), nameOf({ ...question, hash: formerHash }));
    const read = path ? await this.#read(path) : undefined;
    if (read === undefined || "message" in read || read.hash !== formerHash) {
      return { decision: "undecided", problems: [] };
    }
    const isDenied = read.decision === "denied";
    return isDenied ? { decision: "denied", problems: [] } : { decision: "undecided", isOutdated: true, problems: [] };
  }

  async approve(question: TrustQuestion): Promise<void> {
    await this.#write("approved", question);
  }

  /** It stays inert, and is not asked about again until it changes. */
  async deny(question: TrustQuestion): Promise<void> {
    await this.#write("denied", question);
  }

  /** Forgets decisions of a project and says which: all, those of one server, or with none named those of its settings. */
  async revoke(project: string, of?: { readonly server: string | undefined }): Promise<readonly TrustRecord[]> {
    const realPath = (await this.#world.files.find(project))?.realPath ?? project;
    const { records } = await this.list();
    const gone = records.filter(
      (record) =>
        (record.project === realPath || record.project === project) &&
        (of === undefined || record.server === of.server),
    );
    for (const record of gone) await this.#world.files.remove(join(this.#home(), nameOf(record)));
    return gone;
  }

  async list(): Promise<{ readonly records: readonly TrustRecord[]; readonly problems: readonly Problem[] }> {
    const folder = this.#folder;
    if (folder === undefined) return { records: [], problems: [] };
    const records: TrustRecord[] = [];
    const problems: Problem[] = [];
    for (const { name } of await this.#world.files.list(folder)) {
      if (!NAME.test(name)) continue;
      const path = join(folder, name);
      const read = await this.#read(path);
      if (read === undefined) continue;
      if ("message" in read) problems.push(problemAt(path, read.message));
      else if (nameOf(read) === name) records.push(read);
    }
    return { records, problems };
  }

  async #write(decision: TrustRecord["decision"], question: TrustQuestion): Promise<void> {
    const { hash, project, server } = question;
    const decidedAt = new Date(this.#world.now()).toISOString();
    const record = { version: 1, decision, hash, project, ...defined({ server }), decidedAt };
    const path = join(this.#home(), nameOf(question));
    const writing = this.#world.files.writeAtomic(path, `${JSON.stringify(record, undefined, 2)}\n`);
    await orFail("config.unreadable", `the decision cannot be kept in ${path}`, writing);
  }

  #home(): string {
    if (this.#folder !== undefined) return this.#folder;
    throw new TenonError("config.unreadable", "there is no place to keep the decision: HOME is not set", {
      hint: "Set HOME, or TENON_HOME, to a full path.",
    });
  }

  async #read(path: string): Promise<TrustRecord | { readonly message: string } | undefined> {
    let text: string;
    try {
      const found = await this.#world.files.find(path);
      if (!found) return undefined;
      if (found.kind !== "file") return { message: "this is no file; it does not count as a decision" };
      text = await this.#world.files.readText(found.realPath);
    } catch (error) {
      return { message: `the decision cannot be read, so it does not count: ${messageOf(error)}` };
    }
    return recordOf(text) ?? { message: "this is no decision Tenon wrote; it does not count" };
  }
}

function recordOf(text: string): TrustRecord | undefined {
  const parsed = parseObject(text);
  if (!parsed) return undefined;
  const { version, decision, hash, project, server, decidedAt } = parsed;
  if (version !== 1 || (decision !== "approved" && decision !== "denied")) return undefined;
  if (typeof hash !== "string" || typeof project !== "string" || typeof decidedAt !== "string") return undefined;
  if (server !== undefined && typeof server !== "string") return undefined;
  return { decision, hash, project, decidedAt, ...defined({ server }) };
}

type Subject = Pick<TrustRecord, "hash" | "project" | "server">;

function nameOf(decided: Subject): string {
  return `${subjectOf(decided)}-${decided.hash}.json`;
}

function subjectOf({ project, server }: Subject): string {
  return hashJson({ project, server: server ?? null }).slice(0, 16);
}

function problemAt(file: string, message: string): Problem {
  return { severity: "error", place: { layer: "user", file }, message };
}
