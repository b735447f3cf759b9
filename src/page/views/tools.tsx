// The tools of a session: the catalog, what a search finds and how well, why one is offered or not, and a form to call one.
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { App } from "../model/app.js";
import { partOf } from "../model/parts.js";
import type { OpenSession } from "../model/session.js";
import { Empty, Json, PartView, useLoaded } from "../parts/basics.js";
import { SchemaForm, schemaOf } from "../parts/form.js";
import { QuestionCard } from "../parts/question.js";
import { type JsonObject, listAt, numberAt, objectsAt, textAt } from "../wire/json.js";

/** Typing goes on: one search for a pause, not for each letter. */
const TYPING_MS = 250;

export function Tools({ app, session }: { readonly app: App; readonly session: OpenSession }) {
  const typed = useSignal("");
  const query = useSignal("");
  useEffect(() => {
    const timer = setTimeout(() => (query.value = typed.value.trim()), TYPING_MS);
    return () => clearTimeout(timer);
  }, [typed.value]);
  const isLive = session.standing.value === "live";
  const load = async () => {
    const asked = query.value === "" ? {} : { query: query.value };
    return isLive
      ? objectsAt(await app.request("_tenon/session/tools", { sessionId: session.id, ...asked }), "tools")
      : undefined;
  };
  const { value, problem } = useLoaded(load, `${query.value} ${isLive}`);
  if (!isLive) return <NotLive app={app} session={session} what="tools" />;
  const best = Math.max(0, ...(value ?? []).map((tool) => numberAt(tool, "score") ?? 0));
  return (
    <div class="scroller padded">
      <input
        type="search"
        data-search
        class="wide"
        placeholder="Search as the model does: what should the tool do?"
        aria-label="Search tools"
        value={typed.value}
        onInput={(event) => (typed.value = event.currentTarget.value)}
      />
      {problem !== undefined && <p class="banner bad">{problem}</p>}
      {value?.length === 0 && (
        <Empty title={query.value === "" ? "No tools in this session" : "The search finds nothing"} />
      )}
      <ul class="rows">
        {value?.map((tool) => (
          <Tool key={textAt(tool, "name")} app={app} session={session} tool={tool} best={best} />
        ))}
      </ul>
    </div>
  );
}

export function NotLive({
  app,
  session,
  what,
}: {
  readonly app: App;
  readonly session: OpenSession;
  readonly what: string;
}) {
  if (session.standing.value === "opening") return <Empty title="Opening…" />;
  return (
    <Empty title={`Its ${what} do not run`}>
      <p>{session.problem.value ?? "The session rests."}</p>
      {session.mayPrompt && session.problem.value === undefined && (
        <button type="button" onClick={() => app.run(session.load())}>
          Open it
        </button>
      )}
    </Empty>
  );
}

interface ToolProps {
  readonly app: App;
  readonly session: OpenSession;
  readonly tool: JsonObject;
  readonly best: number;
}

function Tool({ app, session, tool, best }: ToolProps) {
  const isOpen = useSignal(false);
  const score = numberAt(tool, "score");
  const isOffered = tool["offered"] === true;
  const source = textAt(tool, "server") ?? "";
  return (
    <li>
      <button
        type="button"
        class="row tool-row"
        data-row
        aria-expanded={isOpen.value}
        onClick={() => (isOpen.value = !isOpen.value)}
      >
        <span class="row-main">
          <span class="row-title">{textAt(tool, "name")}</span>
          <span class="row-text">{textAt(tool, "description")}</span>
        </span>
        <span class="row-facts">
          {score !== undefined && (
            <span class="score" title={`score ${score}`}>
              <svg viewBox="0 0 100 6" preserveAspectRatio="none" aria-hidden="true">
                <rect class="bar model" width={best === 0 ? 0 : (score / best) * 100} height="6" />
              </svg>
              {score.toFixed(2)}
            </span>
          )}
          <span class="people">{source}</span>
          <span class={`badge ${isOffered ? "ok" : "calm"}`}>{isOffered ? "offered" : "not offered"}</span>
        </span>
      </button>
      {isOpen.value && <ToolDetail app={app} session={session} tool={tool} />}
    </li>
  );
}

function ToolDetail({ app, session, tool }: Omit<ToolProps, "best">) {
  const result = useSignal<JsonObject | undefined>(undefined);
  const isBusy = useSignal(false);
  const reason = textAt(tool, "reason");
  const schema = tool["inputSchema"];
  const call = async (args: JsonObject) => {
    isBusy.value = true;
    result.value = undefined;
    try {
      const request = { sessionId: session.id, name: textAt(tool, "name"), arguments: args };
      result.value = await app.request("_tenon/session/call_tool", request);
    } finally {
      isBusy.value = false;
    }
  };
  return (
    <div class="card tool-detail">
      {reason !== undefined && <p class="why">{reason}</p>}
      <p class="plain">{textAt(tool, "description")}</p>
      {app.may("tools") && schema !== undefined && (
        <SchemaForm
          schema={schemaOf(schema)}
          submit={isBusy.value ? "Calling…" : "Call"}
          isBusy={isBusy.value}
          onSubmit={(args) => app.run(call(args))}
        />
      )}
      {isBusy.value &&
        app.questions.value
          .filter(({ sessionId }) => sessionId === session.id)
          .map((question) => (
            <QuestionCard key={question.id} app={app} question={question} place={question.id} showsSession={false} />
          ))}
      {result.value && <ToolResult result={result.value} />}
      {schema !== undefined && (
        <details>
          <summary>Input schema</summary>
          <Json value={schema} label="input schema" />
        </details>
      )}
    </div>
  );
}

function ToolResult({ result }: { readonly result: JsonObject }) {
  const blocks = listAt(result, "content");
  return (
    <div class="tool-result" role="status" aria-label="result">
      <p class="label">{result["isError"] === true ? "Failed" : "Result"}</p>
      {blocks.map((block) => (
        <PartView part={partOf(block)} />
      ))}
      {blocks.length === 0 && <Json value={result} label="result" />}
    </div>
  );
}
