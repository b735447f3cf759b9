// What the model is told of a call that ended after its turn: in the person's place, and plainly not the person's words.
import { text } from "../../base/text/content.js";
import { alreadyMarked, dataHeader, hostLine, type MarkedContent, quoted } from "../../base/text/marking.js";
import type { LateEnd } from "../conversation.js";

export function noteOf({ label, presented: { model, outcome } }: LateEnd): MarkedContent {
  const words = `the call of ${quoted(label)} that went on as a long-running task has ended (${outcome.kind})`;
  const header = model.origin === undefined ? [] : [text(dataHeader(model.origin))];
  return alreadyMarked([
    text(hostLine(`${words}; its result follows, and after it the person's next message`)),
    ...header,
    ...model.content,
  ]);
}
