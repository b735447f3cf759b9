// The calls of a session as a waterfall: model, tools, questions and servers.
import { useEffect, useMemo } from "preact/hooks";
import type { App } from "../model/app.js";
import { Journal, MOST_RECORDS } from "../model/journal.js";
import type { OpenSession } from "../model/session.js";
import { Empty, useLoaded } from "../parts/basics.js";
import { serverStarts, spansOfRecords } from "../waterfall/spans.js";
import { Waterfall } from "../waterfall/waterfall.js";
import { objectsAt } from "../wire/json.js";

const REFRESH_MS = 1_000;
/** Not the pieces of answers: they are most of a journal. */
const KINDS = [
  "prompt",
  "answer",
  "call",
  "intent",
  "outcome",
  "question",
  "answered",
  "usage",
  "end",
  "error",
  "blob",
];

export function Calls({ app, session }: { readonly app: App; readonly session: OpenSession }) {
  const journal = useMemo(() => new Journal(session.id, app), []);
  const { problem, reload } = useLoaded(() => journal.read(KINDS), app.isListed.value);
  const isRunning = app.rows.value.get(session.id)?.state === "running";
  useEffect(() => {
    if (!isRunning) {
      reload(); // the end of the turn
      return undefined;
    }
    const timer = setInterval(reload, REFRESH_MS);
    return () => clearInterval(timer);
  }, [isRunning]);
  const isLive = session.standing.value === "live";
  const servers = useLoaded(
    async () => (isLive ? await app.request("_tenon/mcp/status", { sessionId: session.id }) : {}),
    isLive,
  );
  const groups = [
    ...serverStarts(objectsAt(servers.value, "servers")),
    ...spansOfRecords(journal.records.value, journal.blobs),
  ];
  if (problem !== undefined)
    return (
      <Empty title="The journal cannot be read">
        <p>{problem}</p>
      </Empty>
    );
  if (groups.length === 0) return <Empty title="No calls yet" />;
  return (
    <div class="scroller padded">
      {!journal.isComplete.value && <p class="banner">Only the last {MOST_RECORDS} records are shown.</p>}
      <Waterfall groups={groups} nowMs={app.now} />
    </div>
  );
}
