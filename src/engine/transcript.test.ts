// The conversation: valid at every moment, and what is not valid is named.
import { expect, test } from "vitest";
import { text } from "../base/text/content.js";
import { markContent } from "../base/text/marking.js";
import type { ModelMessage } from "../models/index.js";
import { Transcript, transcriptProblems } from "./transcript.js";

const user: ModelMessage = { role: "user", content: [text("u")] };
const answer: ModelMessage = { role: "assistant", text: "a", toolCalls: [] };
const asking = (...ids: string[]): ModelMessage => ({
  role: "assistant",
  text: "",
  toolCalls: ids.map((callId) => ({ callId, name: "t", argumentsJson: "{}" })),
});
const results = (...ids: string[]): ModelMessage => ({
  role: "tool",
  results: ids.map((callId) => ({ callId, name: "t", isError: false, content: [text("r")] })),
});

test.each<[string, ModelMessage[], RegExp]>([
  ["begins with an answer", [answer], /message 0 \(assistant\): it follows nothing/],
  ["begins with results", [results("a")], /message 0 \(tool\): it follows nothing/],
  ["has two prompts in a row", [user, user], /message 1 \(user\): it follows a user message/],
  ["has two answers in a row", [user, answer, answer], /it follows an answer/],
  ["has a prompt right after results", [user, asking("a"), results("a"), user], /it follows a tool message/],
  ["has calls without results", [user, asking("a")], /its calls have no results/],
  ["has results for other calls", [user, asking("a", "b"), results("a", "c"), answer], /a, b have the results a, c/],
  ["has results in another order", [user, asking("a", "b"), results("b", "a"), answer], /have the results b, a/],
  ["has results without calls", [user, answer, results("a")], /it follows an answer/],
  ["has one id twice", [user, asking("a", "a"), results("a", "a"), answer], /same id/],
  ["has an empty answer", [user, { ...answer, text: " " }], /it is empty/],
  ["has an empty prompt", [{ ...user, content: [] }], /it is empty/],
])("a conversation that %s is none", (_, messages, problem) => {
  expect(transcriptProblems(messages).join("; ")).toMatch(problem);
  expect(() => Transcript.from(messages)).toThrow(/cannot be replaced/);
});

test("prompts, calls with their results and answers make a conversation, finished or not", () => {
  const messages = [user, asking("a", "b"), results("a", "b"), asking("a"), results("a"), answer, user];
  const whole = [0, 1, 3, 5, 6, 7]; // not between calls and their results
  for (const end of whole) expect(transcriptProblems(messages.slice(0, end))).toEqual([]);
  expect.assertions(whole.length);
});

test("a prompt after a turn without a word, or without any words of its own, still makes one", () => {
  const transcript = new Transcript();
  transcript.addUser(markContent([]));
  transcript.addUser(markContent([text("again")]));
  transcript.addAnswer("");
  transcript.addUser(markContent([text("once more")]));
  expect(transcript.messages.map(({ role }) => role)).toEqual(["user", "assistant", "user", "assistant", "user"]);
  expect(transcriptProblems(transcript.messages)).toEqual([]);
});

test("a dropped turn takes its prompt along, and no other", () => {
  const transcript = Transcript.from([user, answer, user, asking("a"), results("a")]);
  transcript.dropTurn();
  expect(transcript.messages).toEqual([user, answer]);
  transcript.dropTurn();
  transcript.dropTurn();
  expect(transcript.messages).toEqual([]);
});
