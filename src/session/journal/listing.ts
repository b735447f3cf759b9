// Lists the sessions on the disk, page by page, the one used last first.

import { join, resolve } from "node:path";
import { messageOf, TenonError } from "../../base/errors.js";
import { isSessionId, type SessionId } from "../../base/id.js";
import { defined } from "../../base/json/defined.js";
import { LineSplitter } from "../../base/json/ndjson.js";
import type { World } from "../../base/ports/world.js";
import { SESSION_LIMITS } from "../limits.js";
import type { JournalHeader } from "./entry.js";
import { isHeader, readHeader, readRecord } from "./read-journal.js";
import { TITLE_EXTENSION, titleFile } from "./stored-sessions.js";

export interface SessionSummary {
  readonly id: SessionId;
  readonly cwd: string;
  readonly additionalDirectories: readonly string[];
  /** Given by a person, else the beginning of the first prompt. */
  readonly title: string;
  /** Milliseconds since the epoch. */
  readonly updatedMs: number;
}

export interface SessionPage {
  readonly sessions: readonly SessionSummary[];
  /** For the next page; missing on the last one. */
  readonly nextCursor?: string;
}

export interface ListRequest {
  /** Only sessions of this directory. */
  readonly cwd?: string;
  readonly cursor?: string;
  readonly pageSize?: number;
}

interface Place {
  readonly updatedMs: number;
  readonly id: SessionId;
}

const EXTENSION = ".ndjson";

/** Sessions in which nothing was said are left out. */
export async function listSessions(world: World, folder: string, request: ListRequest): Promise<SessionPage> {
  const { cwd, cursor, pageSize = SESSION_LIMITS.journal.pageSize } = request;
  const after = cursor === undefined ? undefined : readCursor(cursor);
  const files = await world.files.list(folder);
  const titled = new Set(files.map(({ name }) => name).filter((name) => name.endsWith(TITLE_EXTENSION)));
  const places = files
    .filter(({ name }) => name.endsWith(EXTENSION))
    .flatMap(({ name, modifiedMs }): readonly Place[] => {
      const id = name.slice(0, -EXTENSION.length);
      return isSessionId(id) ? [{ id, updatedMs: Math.floor(modifiedMs) }] : [];
    })
    .sort(byAge)
    .filter((place) => after === undefined || byAge(after, place) < 0);
  const sessions: SessionSummary[] = [];
  for (const place of places) {
    const summary = await summaryOf(world, folder, { ...place, isTitled: titled.has(`${place.id}${TITLE_EXTENSION}`) });
    if (!summary || (cwd !== undefined && resolve(summary.cwd) !== resolve(cwd))) continue;
    const last = sessions.at(-1);
    // The page is full, and there is at least one more.
    if (last && sessions.length === pageSize) return { sessions, nextCursor: writeCursor(last) };
    sessions.push(summary);
  }
  return { sessions };
}

/** The same order for everybody at any time: no two sessions have the same place. */
function byAge(one: Place, other: Place): number {
  return other.updatedMs - one.updatedMs || (one.id < other.id ? 1 : one.id > other.id ? -1 : 0);
}

async function summaryOf(
  world: World,
  folder: string,
  { id, updatedMs, isTitled }: Place & { readonly isTitled: boolean },
): Promise<SessionSummary | undefined> {
  try {
    const range = { start: 0, length: SESSION_LIMITS.journal.headBytes };
    const { header, title } = readHead(await world.files.readBytes(join(folder, `${id}${EXTENSION}`), range));
    if (!header || title === undefined) return undefined;
    const { cwd, additionalDirectories = [] } = header;
    const given = isTitled ? await world.files.readText(titleFile(folder, id)) : title;
    return { id, cwd, additionalDirectories, title: given, updatedMs };
  } catch (error) {
    world.log.warn("session.unlistable", { session: id, error: messageOf(error) }); // deleted meanwhile, for one
    return undefined;
  }
}

function readHead(bytes: Uint8Array): { header?: JournalHeader; title?: string } {
  let header: JournalHeader | undefined;
  for (const line of new LineSplitter(SESSION_LIMITS.journal.headBytes).push(bytes)) {
    if (line.kind !== "line") continue;
    if (!header) {
      const read = readHeader(line.text);
      if (read && isHeader(read)) header = read;
    }
    const record = readRecord(line.text);
    if (record?.kind === "title") return { ...defined({ header }), title: record.title };
  }
  return {};
}

function writeCursor({ updatedMs, id }: Place): string {
  return Buffer.from(`${updatedMs} ${id}`).toString("base64url");
}

function readCursor(cursor: string): Place {
  const [, updatedMs, id] = /^(\d+) (.+)$/u.exec(Buffer.from(cursor, "base64url").toString()) ?? [];
  if (updatedMs === undefined || id === undefined || !isSessionId(id)) {
    throw new TenonError("session.invalid_request", "the cursor is not one that a listing gave", {
      hint: "List the sessions from the beginning.",
    });
  }
  return { updatedMs: Number(updatedMs), id };
}
