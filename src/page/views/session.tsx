// One session: its conversation as it goes, its plan and open questions.
import { useSignal } from "@preact/signals";
import type { ComponentChildren, VNode } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef } from "preact/hooks";
import type { App } from "../model/app.js";
import type { Item, ToolCard } from "../model/conversation.js";
import type { OpenSession } from "../model/session.js";
import { Badge, Empty, Json, PartView } from "../parts/basics.js";
import { Composer } from "../parts/composer.js";
import { Markdown } from "../parts/markdown.js";
import { QuestionCard } from "../parts/question.js";

/** Older items are built when they are asked for: a long conversation has thousands. */
const SHOWN = 120;

export function SessionView({ app, session }: { readonly app: App; readonly session: OpenSession }) {
  const standing = session.standing.value;
  const questions = app.questions.value.filter(({ sessionId }) => sessionId === session.id);
  return (
    <div class="session">
      <Scroller>
        {standing === "opening" && <Empty title="Opening…" />}
        {standing === "failed" && (
          <Empty title="This session cannot be shown">
            <p>{session.problem.value}</p>
          </Empty>
        )}
        {standing === "journal" && <JournalNote app={app} session={session} />}
        <Plan session={session} />
        <Items session={session} />
        {questions.map((question) => (
          <QuestionCard key={question.id} app={app} question={question} place={question.id} showsSession={false} />
        ))}
        {session.state.value === "running" && standing === "live" && (
          <p class="working" role="status">
            <span class="dot running" aria-hidden="true" /> Working
            {session.runsFor.value === undefined ? "" : ` for ${session.runsFor.value}`}
            {session.queued.value > 0 ? `, ${session.queued.value} waiting` : ""}
          </p>
        )}
      </Scroller>
      {session.mayPrompt && standing !== "failed" && standing !== "opening" && <Composer app={app} session={session} />}
    </div>
  );
}

/** Stays at the end while the end is in view. */
function Scroller({ children }: { readonly children: ComponentChildren }) {
  const frame = useRef<HTMLDivElement>(null);
  const isAtEnd = useRef(true);
  useLayoutEffect(() => {
    const element = frame.current;
    if (!element) return undefined;
    const keep = () => {
      if (isAtEnd.current) element.scrollTop = element.scrollHeight;
    };
    const observer = new ResizeObserver(keep);
    for (const child of element.children) observer.observe(child);
    keep();
    return () => observer.disconnect();
  }, []);
  const onScroll = () => {
    const element = frame.current;
    if (element) isAtEnd.current = element.scrollHeight - element.scrollTop - element.clientHeight < 40;
  };
  return (
    <div class="scroller" ref={frame} onScroll={onScroll}>
      <div class="conversation">{children}</div>
    </div>
  );
}

const REFRESH_MS = 2_000;

function JournalNote({ app, session }: { readonly app: App; readonly session: OpenSession }) {
  const state = app.rows.value.get(session.id)?.state;
  useEffect(() => {
    const refresh = () => {
      // What fails once may not fail the next time, and what is shown stays.
      if (!document.hidden && app.link.value.kind === "online") session.refresh().catch(() => undefined);
    };
    if (state !== "resting") refresh();
    const timer = setInterval(refresh, REFRESH_MS);
    return () => clearInterval(timer);
  }, [state]);
  const [problem, owner] = [session.problem.value, session.owner.value];
  return (
    <div class="card journal-note">
      <p>
        {problem !== undefined
          ? `Shown from its journal: ${problem}`
          : owner !== undefined
            ? `${owner} has this session open. It is shown from its journal, as far as that is written.`
            : "This session rests. It is shown from its journal; nothing of it runs."}
      </p>
      {problem === undefined && owner === undefined && session.mayPrompt && (
        <button type="button" onClick={() => app.run(session.load())}>
          Open it
        </button>
      )}
    </div>
  );
}

function Plan({ session }: { readonly session: OpenSession }) {
  const entries = session.conversation.plan.value;
  if (entries.length === 0) return null;
  const done = entries.filter(({ status }) => status === "completed").length;
  return (
    <details class="card plan" open={done < entries.length}>
      <summary>
        Plan <span class="muted">{`${done} of ${entries.length}`}</span>
      </summary>
      <ol>
        {entries.map(({ content, status }) => (
          <li class={status}>{content}</li>
        ))}
      </ol>
    </details>
  );
}

function Items({ session }: { readonly session: OpenSession }) {
  const shown = useSignal(SHOWN);
  const items = session.conversation.items.value;
  const hidden = Math.max(0, items.length - shown.value);
  return (
    <>
      {hidden > 0 && (
        <button type="button" class="small earlier" onClick={() => (shown.value += SHOWN)}>
          Show earlier ({hidden})
        </button>
      )}
      {items.slice(hidden).map((item) => (
        <ItemView key={item.key} item={item} />
      ))}
      {items.length === 0 && session.standing.value !== "opening" && <Empty title="Nothing was said yet" />}
    </>
  );
}

/** Items are replaced when they change, so one that is the same need not be built again. */
function ItemView({ item }: { readonly item: Item }) {
  return useMemo(() => itemNode(item), [item]);
}

function itemNode(item: Item): VNode {
  switch (item.kind) {
    case "user":
      return (
        <div class="item user">
          <p class="item-who">{item.by ?? "You"}</p>
          {item.parts.map((part) =>
            part.kind === "text" ? <p class="plain">{part.text}</p> : <PartView part={part} />,
          )}
        </div>
      );
    case "agent":
      return (
        <div class="item agent">
          <Markdown text={item.text} />
        </div>
      );
    case "thought":
      return (
        <details class="item thought">
          <summary>Thought</summary>
          <p class="plain">{item.text}</p>
        </details>
      );
    case "tool":
      return <Card card={item.card} />;
    case "notice":
      return (
        <p class={`item notice ${item.severity}`}>
          {item.title}
          {item.description !== undefined && <span class="muted"> {item.description}</span>}
        </p>
      );
    case "mark":
      return <p class="item mark">{item.text}</p>;
  }
}

function Card({ card }: { readonly card: ToolCard }) {
  const isOpen = useSignal<boolean | undefined>(undefined);
  const { title, status, toolKind, input, parts, output } = card;
  const hasDiff = parts.some(({ kind }) => kind === "diff");
  const open = isOpen.value ?? (hasDiff || status === "failed");
  return (
    <div class={`item tool ${status}`} data-call={card.id}>
      <button type="button" class="tool-head" aria-expanded={open} onClick={() => (isOpen.value = !open)}>
        {toolKind !== "other" && <span class="tool-kind">{toolKind}</span>}
        <span class="tool-title">{title}</span>
        <Badge state={status} label={status === "completed" ? "done" : status} />
      </button>
      {open && (
        <div class="tool-body">
          {input !== undefined && !hasDiff && (
            <>
              <p class="label">Arguments</p>
              <Json value={input} label="arguments" />
            </>
          )}
          {parts.length > 0 && <p class="label">{hasDiff ? "Change" : "Result"}</p>}
          {parts.map((part) => (
            <PartView part={part} />
          ))}
          {output !== undefined && parts.length === 0 && <Json value={output} label="result" />}
        </div>
      )}
    </div>
  );
}
