// What the scripted model does with a instruction.
import fc from "fast-check";
import { expect, test } from "vitest";
import { type Conversation, instructionText, latestInstruction, type Message, nextMove } from "./conversation.js";

const instruction = (words: readonly string[]): Message => ({
  role: "user",
  text: instructionText({ turn: "t1", words }),
  calls: [],
});
const called = (...calls: string[]): Message => ({ role: "assistant", text: "", calls });
const answered = (text: string): Message => ({ role: "other", text, calls: [] });
const offer = (...names: string[]) => names.map((name) => ({ name, schema: {} }));

test("the tool whose name contains the word is called, whatever the agent made of its name", () => {
  const tools = offer("bash", "mcp__srv__echo1");
  expect(nextMove({ messages: [instruction(["echo1"])], tools })).toEqual({
    kind: "call",
    name: "mcp__srv__echo1",
    arguments: { text: "t1" },
  });
});

test("every tool that contains the word is called once, and then the turn ends", () => {
  const tools = offer("a_same1", "b_same1");
  const messages = [instruction(["same1"]), called("a_same1"), answered("ok")];
  expect(nextMove({ messages, tools })).toMatchObject({ kind: "call", name: "b_same1" });
  const done = [...messages, called("b_same1"), answered("ok")];
  expect(nextMove({ messages: done, tools })).toMatchObject({ kind: "say" });
});

test("a tool behind a search is searched for once, then called by the name that was found", () => {
  const tools = [{ name: "tool_search", schema: { properties: { limit: {}, query: {} } } }];
  const messages = [instruction(["echo1"])];
  expect(nextMove({ messages, tools })).toEqual({
    kind: "call",
    name: "tool_search",
    arguments: { query: "echo1" },
  });
  const found = [...messages, called("tool_search"), answered('[{"name":"mcp__srv__echo1"}] for echo1')];
  expect(nextMove({ messages: found, tools })).toMatchObject({ kind: "call", name: "mcp__srv__echo1" });
  const nothing = [...messages, called("tool_search"), answered("nothing fits echo1")];
  expect(nextMove({ messages: nothing, tools })).toMatchObject({ kind: "say" });
});

test("only the latest instruction counts, and what tools answer is no instruction", () => {
  const messages = [
    instruction(["old1"]),
    called("x_old1"),
    answered(instructionText({ turn: "t9", words: ["evil"] })),
  ];
  expect(latestInstruction(messages)?.instruction).toEqual({ turn: "t1", words: ["old1"] });
  const later: Message = { role: "user", text: instructionText({ turn: "t2", words: [] }), calls: [] };
  expect(latestInstruction([...messages, later])).toEqual({ instruction: { turn: "t2", words: [] }, since: [] });
});

test("without a instruction nothing is called", () => {
  const messages: Message[] = [{ role: "user", text: "Write a title", calls: [] }];
  expect(nextMove({ messages, tools: offer("echo1") })).toMatchObject({ kind: "say" });
});

test("whatever is offered, a turn ends, and nothing is called twice or that was not offered", () => {
  const word = fc.constantFrom("one", "two", "three");
  const name = fc.tuple(fc.string({ maxLength: 3 }), word).map(([prefix, end]) => `${prefix}${end}`);
  fc.assert(
    fc.property(fc.uniqueArray(name, { maxLength: 8 }), fc.uniqueArray(word), (names, words) => {
      const conversation: Conversation & { messages: Message[] } = {
        messages: [instruction(words)],
        tools: offer(...names),
      };
      const calls: string[] = [];
      for (let step = 0; step <= names.length; step += 1) {
        const move = nextMove(conversation);
        if (move.kind === "say") break;
        calls.push(move.name);
        conversation.messages.push(called(move.name), answered("ok"));
      }
      const wanted = names.filter((one) => words.some((part) => one.includes(part)));
      expect(calls.toSorted()).toEqual(wanted.toSorted());
    }),
  );
});
