// All sessions: what each does, who is connected, what waits for an answer, and what it cost.
import { useSignal } from "@preact/signals";
import { markHidden } from "../../base/text/marking.js";
import type { App, SessionRow } from "../model/app.js";
import { Ago, Badge, Empty, Folder, money } from "../parts/basics.js";
import { entryOf } from "../wire/json.js";

const ORDER: Readonly<Record<string, number>> = { waiting: 0, running: 1 };
const SHOWN = 200;

/** Those that need somebody first, then the newest. */
function sorted(rows: Iterable<SessionRow>): SessionRow[] {
  const rank = ({ state }: SessionRow) => entryOf(ORDER, state) ?? 2;
  return [...rows].sort((a, b) => rank(a) - rank(b) || b.updatedAt - a.updatedAt);
}

export function Sessions({ app }: { readonly app: App }) {
  const query = useSignal("");
  const isNew = useSignal(false);
  const words = query.value.toLowerCase().split(/\s+/u);
  const rows = sorted(app.rows.value.values()).filter(({ id, title, cwd, state }) => {
    const text = `${title} ${cwd} ${state} ${id}`.toLowerCase();
    return words.every((word) => text.includes(word));
  });
  return (
    <section class="view" aria-label="Sessions">
      <header class="view-head">
        <h1>Sessions</h1>
        <input
          type="search"
          data-search
          placeholder="Search"
          aria-label="Search sessions"
          value={query.value}
          onInput={(event) => (query.value = event.currentTarget.value)}
        />
        {app.may("prompt") && (
          <button
            type="button"
            class="primary"
            aria-expanded={isNew.value}
            onClick={() => (isNew.value = !isNew.value)}
          >
            New session
          </button>
        )}
      </header>
      {isNew.value && (
        <NewSession app={app} folders={[...new Set(sorted(app.rows.value.values()).map(({ cwd }) => cwd))]} />
      )}
      {app.isListed.value && rows.length === 0 && (
        <Empty title={query.value === "" ? "No sessions yet" : "No session matches"}>
          <p>Sessions of editors that use this gateway appear here.</p>
        </Empty>
      )}
      <ul class="rows">
        {rows.slice(0, SHOWN).map((row) => (
          <Row key={row.id} row={row} />
        ))}
      </ul>
      {rows.length > SHOWN && <p class="muted">{rows.length - SHOWN} more: search for them.</p>}
    </section>
  );
}

function Row({ row }: { readonly row: SessionRow }) {
  const { id, title, cwd, state, questions, clients, costUsd, updatedAt } = row;
  return (
    <li>
      <a class="row" data-row href={`#/session/${encodeURIComponent(id)}`}>
        <span class={`dot ${state}`} aria-hidden="true" />
        <span class="row-main">
          <span class="row-title">{title || "Untitled session"}</span>
          <Folder path={cwd} />
        </span>
        <span class="row-facts">
          {questions.length > 0 && (
            <span class="badge ask">
              {questions.length} {questions.length === 1 ? "question" : "questions"}
            </span>
          )}
          {state !== "resting" && !(state === "waiting" && questions.length > 0) && <Badge state={state} />}
          {clients.length > 0 && (
            <span class="people" title={`connected: ${clients.join(", ")}`}>
              {clients.slice(0, 3).join(", ")}
              {clients.length > 3 ? ` +${clients.length - 3}` : ""}
            </span>
          )}
          {costUsd !== undefined && <span class="cost">{money(costUsd)}</span>}
          <span class="when">
            <Ago at={updatedAt} />
          </span>
        </span>
      </a>
    </li>
  );
}

function NewSession({ app, folders }: { readonly app: App; readonly folders: readonly string[] }) {
  const folder = useSignal(folders[0] ?? "");
  const open = async () => {
    const id = await app.newSession(folder.value.trim());
    location.hash = `#/session/${encodeURIComponent(id)}`;
  };
  return (
    <form
      class="card new-session"
      onSubmit={(event) => {
        event.preventDefault();
        app.run(open());
      }}
    >
      <label class="field">
        <span class="field-name">
          Directory on {markHidden(app.introduction.value?.host ?? "the gateway's machine")}
        </span>
        <input
          type="text"
          list="folders"
          required
          value={folder.value}
          onInput={(event) => (folder.value = event.currentTarget.value)}
        />
      </label>
      <datalist id="folders">
        {folders.slice(0, 20).map((path) => (
          <option value={path} />
        ))}
      </datalist>
      <button type="submit" class="primary">
        Start
      </button>
    </form>
  );
}
