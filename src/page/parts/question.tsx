// One open question with all that is needed to answer it: whole arguments, the change, warnings, and the answers it offers.
import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect } from "preact/hooks";
import { safeAddress } from "../../base/text/markdown-safety.js";
import type { App, OpenQuestion } from "../model/app.js";
import { diffPart, partOf } from "../model/parts.js";
import {
  entryOf,
  isObject,
  type JsonObject,
  type JsonValue,
  listAt,
  numberAt,
  objectAt,
  objectsAt,
  textAt,
  textsAt,
  written,
} from "../wire/json.js";
import { Ago, Folder, Json, PartView } from "./basics.js";
import { SchemaForm } from "./form.js";

interface Answer {
  readonly answer: JsonValue;
  readonly label: string;
  readonly kind: "allow" | "allow-more" | "deny" | "deny-more";
}

const KINDS: Readonly<Record<string, Answer["kind"]>> = {
  once: "allow",
  always: "allow-more",
  no: "deny",
  never: "deny-more",
};

const TRUST: readonly Answer[] = [
  { answer: "yes", label: "Trust exactly this", kind: "allow" },
  { answer: "later", label: "Not now", kind: "deny" },
  { answer: "no", label: "Never", kind: "deny-more" },
];
const SAMPLING: readonly Answer[] = [
  { answer: "once", label: "Allow once", kind: "allow" },
  { answer: "session", label: "Allow this server to use the model for the rest of this session", kind: "allow-more" },
  { answer: "no", label: "No", kind: "deny" },
  { answer: "never", label: "No, for the rest of this session", kind: "deny-more" },
];

function answersOf({ of, shown }: OpenQuestion): readonly Answer[] {
  switch (of) {
    case "permission":
      return objectsAt(shown, "choices").map((choice) => {
        const answer = textAt(choice, "answer") ?? "no";
        return { answer, label: textAt(choice, "label") ?? answer, kind: entryOf(KINDS, answer) ?? "allow-more" };
      });
    case "trust":
      return TRUST;
    case "sampling":
      return SAMPLING;
    case "person":
      return [
        ...objectsAt(shown, "options").map((option): Answer => {
          const label = textAt(option, "label") ?? "";
          return { answer: { kind: "chosen", label }, label, kind: "allow-more" };
        }),
        { answer: { kind: "declined" }, label: "Do not answer", kind: "deny" },
      ];
    default:
      return [{ answer: { action: "decline" }, label: "Decline", kind: "deny" }];
  }
}

const ASKS: Readonly<Record<string, string>> = {
  permission: "wants to run",
  trust: "wants to be trusted",
  sampling: "wants to use the model",
  elicitation: "asks you",
  person: "The model asks",
};

/** Cards move when another one is answered: a press that was meant for what was there before must not count. */
const SETTLE_MS = 350;

interface QuestionProps {
  readonly app: App;
  readonly question: OpenQuestion;
  /** Changes whenever the card may have moved. */
  readonly place: string;
  readonly showsSession: boolean;
}

export function QuestionCard({ app, question, place, showsSession }: QuestionProps) {
  const isSettled = useSignal(false);
  const isSent = useSignal(false);
  useEffect(() => {
    isSettled.value = false;
    const timer = setTimeout(() => (isSettled.value = true), SETTLE_MS);
    return () => clearTimeout(timer);
  }, [place]);
  const answer = (given: JsonValue) => {
    isSent.value = true;
    app.run(
      app.answer(question, given).finally(() => {
        isSent.value = false;
      }),
    );
  };
  const row = app.rows.value.get(question.sessionId);
  const isOff = !isSettled.value || isSent.value || !app.may("approve") || !app.isCurrent.value;
  return (
    <article
      class="card question-card"
      data-row
      data-question={question.id}
      tabIndex={-1}
      aria-label={titleOf(question)}
    >
      <header class="question-head">
        <span class="question-asks">{entryOf(ASKS, question.of) ?? "asks"}</span>
        <Ago at={question.askedAt} />
      </header>
      <h2 class="question-title">{titleOf(question)}</h2>
      {showsSession && row && (
        <a class="question-session" href={`#/session/${encodeURIComponent(row.id)}`}>
          {row.title || "Untitled session"} <Folder path={row.cwd} />
        </a>
      )}
      <QuestionBody question={question} isOff={isOff} answer={answer} />
      <Answers answers={answersOf(question)} isOff={isOff} answer={answer} />
      {!app.may("approve") && <p class="muted">Your log-in may look, but not answer.</p>}
    </article>
  );
}

function Answers({
  answers,
  isOff,
  answer,
}: {
  readonly answers: readonly Answer[];
  readonly isOff: boolean;
  readonly answer: (given: JsonValue) => void;
}) {
  const button = (one: Answer) => (
    <button
      type="button"
      class={`answer ${one.kind}`}
      disabled={isOff}
      data-allow={one.kind === "allow" ? "" : undefined}
      data-deny={one.kind === "deny" ? "" : undefined}
      onClick={() => answer(one.answer)}
    >
      {one.label}
    </button>
  );
  const more = answers.filter(({ kind }) => kind === "allow-more" || kind === "deny-more");
  const main = answers
    .filter(({ kind }) => kind === "allow" || kind === "deny")
    .sort((a, b) => b.kind.localeCompare(a.kind));
  return (
    <div class="answers" role="group" aria-label="answers">
      {more.length > 0 && <div class="answers-more">{more.map(button)}</div>}
      <div class="answers-main">{main.map(button)}</div>
    </div>
  );
}

function titleOf({ of, shown }: OpenQuestion): string {
  const tool = objectAt(shown, "tool");
  switch (of) {
    case "permission":
      return (
        textAt(objectAt(shown, "presentation"), "title") ?? textAt(tool, "label") ?? textAt(tool, "name") ?? "a tool"
      );
    case "trust":
      return textAt(shown, "title") ?? "Trust this project?";
    case "person":
      return textAt(shown, "question") ?? "";
    default:
      return textAt(shown, "server") ?? "A server";
  }
}

function QuestionBody({
  question,
  isOff,
  answer,
}: {
  readonly question: OpenQuestion;
  readonly isOff: boolean;
  readonly answer: (given: JsonValue) => void;
}) {
  const { of, shown } = question;
  switch (of) {
    case "permission":
      return <PermissionBody shown={shown} />;
    case "trust":
      return (
        <>
          <Notes lines={textsAt(shown, "lines")} />
          <Json value={shown["written"] ?? {}} label="as it is written" />
        </>
      );
    case "sampling":
      return <SamplingBody shown={shown} />;
    case "elicitation":
      return <ElicitationBody request={objectAt(shown, "request")} isOff={isOff} answer={answer} />;
    case "person":
      return listAt(shown, "options").length > 0 ? null : (
        <SchemaForm
          schema={{ properties: { text: { type: "string", title: "Answer" } }, required: ["text"] }}
          submit="Answer"
          isBusy={isOff}
          onSubmit={({ text }) => answer({ kind: "typed", text: written(text) })}
        />
      );
    default:
      return <Json value={shown} label="question" />;
  }
}

function PermissionBody({ shown }: { readonly shown: JsonObject }) {
  const { reason, lock, presentation } = shown;
  const tool = objectAt(shown, "tool");
  const diff = objectAt(presentation)["diff"];
  const warnings = [
    ...textsAt(shown, "warnings"),
    ...(shown["protects"] === undefined ? [] : ["It writes a protected file."]),
  ];
  const change = textsAt(shown, "change");
  return (
    <>
      {warnings.map((warning) => (
        <p class="warning">{warning}</p>
      ))}
      {presentation !== undefined && (
        <p class="question-tool">
          {textAt(tool, "source")} / {textAt(tool, "name")}
        </p>
      )}
      {typeof reason === "string" && <p class="muted">Asked because {reason}.</p>}
      {typeof lock === "string" && <p class="warning">It {lock}.</p>}
      <Notes lines={change} />
      {isObject(diff) ? <PartView part={diffPart(diff)} /> : <Arguments args={objectAt(shown, "arguments")} />}
    </>
  );
}

function Arguments({ args }: { readonly args: JsonObject }) {
  const entries = Object.entries(args);
  if (entries.length === 0) return <p class="muted">without arguments</p>;
  return (
    <dl class="arguments">
      {entries.map(([name, value]) => (
        <Fragmented name={name}>{written(value)}</Fragmented>
      ))}
    </dl>
  );
}

function Fragmented({ name, children }: { readonly name: string; readonly children: ComponentChildren }) {
  return (
    <>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </>
  );
}

function SamplingBody({ shown }: { readonly shown: JsonObject }) {
  return (
    <>
      <p>
        An answer of {textAt(shown, "model")} of at most {numberAt(shown, "maxTokens")} tokens, at your expense. After
        this it may ask {numberAt(shown, "callsLeft")} more times in this session.
      </p>
      {(textAt(shown, "system") ?? "") !== "" && (
        <PartView part={{ kind: "text", text: `system: ${textAt(shown, "system")}` }} />
      )}
      {objectsAt(shown, "messages").map((message) => (
        <div class="sampled">
          <span class="muted">{textAt(message, "role")}</span>
          {listAt(message, "content").map((block) => (
            <PartView part={partOf(block)} />
          ))}
        </div>
      ))}
    </>
  );
}

function ElicitationBody({
  request,
  isOff,
  answer,
}: {
  readonly request: JsonObject;
  readonly isOff: boolean;
  readonly answer: (given: JsonValue) => void;
}) {
  const address = textAt(request, "url");
  const url = address === undefined ? undefined : safeAddress(address);
  return (
    <>
      <p class="plain">{textAt(request, "message")}</p>
      {address === undefined ? (
        <SchemaForm
          schema={objectAt(request, "requestedSchema")}
          submit="Send"
          isBusy={isOff}
          onSubmit={(content) => answer({ action: "accept", content })}
        />
      ) : (
        <div class="actions">
          {url ? (
            <a href={url.href} target="_blank" rel="noreferrer noopener">
              {url.href}
            </a>
          ) : (
            <code>{address}</code>
          )}
          <button type="button" class="answer allow" disabled={isOff} onClick={() => answer({ action: "accept" })}>
            I have opened it
          </button>
        </div>
      )}
    </>
  );
}

function Notes({ lines }: { readonly lines: readonly string[] }) {
  return lines.length === 0 ? null : <pre class="code notes">{lines.join("\n")}</pre>;
}
