// Sessions that leave nothing behind: a served client has no conversation that could be taken up again.
import { TenonError } from "../base/errors.js";
import type { OwnedSession, SessionStore } from "../session/index.js";

/** What is appended is dropped. Decisions of people are kept elsewhere, as for every session. */
export function unstoredSessions(): SessionStore {
  const none = (id: string) =>
    Promise.reject(new TenonError("session.not_found", `there is no stored session "${id}"`));
  return {
    create: ({ id }): OwnedSession => {
      let lastSeq = 0;
      return {
        id,
        epoch: 1,
        settled: Promise.resolve(),
        lost: new AbortController().signal,
        get lastSeq() {
          return lastSeq;
        },
        isTouched: false,
        append: (lines) => {
          lastSeq = lines.at(-1)?.seq ?? lastSeq;
          return undefined;
        },
        sync: () => undefined,
        assertWritten: () => {},
        onFailing: () => {},
        release: async () => {},
      };
    },
    acquire: ({ id }) => none(id),
    readAll: (id) => none(id),
    read: async () => [],
    readTurn: async () => [],
    turnStart: async () => 0,
    has: async () => false,
    place: (id) => none(id),
    ownerOf: async () => undefined,
    list: async () => ({ sessions: [] }),
    unfinished: async () => [],
    copy: (from) => none(from),
    setTitle: (id) => none(id),
    remove: async () => {},
  };
}
