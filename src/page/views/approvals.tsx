// Every open question of every session, to be answered with one thumb.
import type { App } from "../model/app.js";
import { Empty } from "../parts/basics.js";
import { QuestionCard } from "../parts/question.js";

export function Approvals({ app }: { readonly app: App }) {
  const questions = app.questions.value;
  const order = questions.map(({ id }) => id).join(" ");
  return (
    <section class="view narrow" aria-label="Approvals">
      <header class="view-head">
        <h1>Approvals</h1>
        <span class="muted">{questions.length === 0 ? "" : `${questions.length} open`}</span>
      </header>
      {app.isListed.value && questions.length === 0 && (
        <Empty title="Nothing waits for you">
          <p>Questions of every session appear here as they are asked.</p>
        </Empty>
      )}
      {questions.map((question) => (
        <QuestionCard key={question.id} app={app} question={question} place={order} showsSession={true} />
      ))}
    </section>
  );
}
