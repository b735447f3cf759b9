// The wire tells a listener what crosses it, in order, and what is no message is not told.
import { PassThrough } from "node:stream";
import { expect, test } from "vitest";
import { fakeWorld } from "../testing/index.js";
import { Wire } from "./wire.js";

test("messages in and out are heard before anybody acts on them, garbage is not", async () => {
  const input = new PassThrough();
  const heard: string[] = [];
  const wire = new Wire({
    world: fakeWorld(),
    input,
    output: new PassThrough(),
    onTraffic: (dir, message) => heard.push(`${dir} ${JSON.stringify(message)}`),
  });
  wire.onMessage = ({ id }) => wire.post({ answered: id });
  input.write('{"id":1}\nnot json\n');
  await fakeWorld().settle();
  expect(heard).toEqual(['in {"id":1}', 'out {"answered":1}', expect.stringContaining("Parse error")]);
});

function connect(output = new PassThrough()) {
  const input = new PassThrough();
  return { input, output, wire: new Wire({ world: fakeWorld(), input, output }) };
}

test("messages of one turn of the event loop go out as one write, in order", async () => {
  const { wire, output } = connect();
  const writes: string[] = [];
  output.on("data", (chunk: Buffer) => writes.push(chunk.toString()));
  for (const n of [1, 2, 3]) wire.post({ n });
  expect(writes).toEqual([]);
  await fakeWorld().settle();
  wire.post({ n: 4 });
  await fakeWorld().settle();
  expect(writes).toEqual(['{"n":1}\n{"n":2}\n{"n":3}\n', '{"n":4}\n']);
});

test("flush writes at once what waits: nothing of it is lost when the process ends", () => {
  const { wire, output } = connect();
  wire.post({ n: 1 });
  wire.flush();
  expect(output.read()?.toString()).toBe('{"n":1}\n');
});

test("a client that does not read makes senders wait, and gets everything in order once it does", async () => {
  const { wire, output } = connect();
  const text = "x".repeat(1_000);
  let sent = 0;
  const sending = (async () => {
    for (; sent < 500; sent++) await wire.send({ n: sent, text });
  })();
  await fakeWorld().settle();
  expect(sent).toBeLessThan(200);
  let received = "";
  output.on("data", (chunk: Buffer) => {
    received += chunk.toString();
  });
  await sending;
  await fakeWorld().settle();
  const numbers = received
    .trim()
    .split("\n")
    .map((line): number => JSON.parse(line).n);
  expect(numbers).toEqual(Array.from({ length: 500 }, (_, index) => index));
});

test("a client that goes on asking and never reads is given up before its answers fill the memory", async () => {
  const { wire } = connect();
  const text = "x".repeat(1_000_000);
  for (let sent = 0; sent < 100; sent++) {
    wire.post({ text });
    if (sent % 10 === 0) await fakeWorld().settle();
  }
  await expect(wire.closed).resolves.toBeUndefined();
});

test("a client that is gone makes nobody wait", async () => {
  const { wire, input } = connect();
  let sent = 0;
  const sending = (async () => {
    for (; sent < 500; sent++) await wire.send({ text: "x".repeat(1_000) });
  })();
  await fakeWorld().settle();
  expect(sent).toBeLessThan(200);
  input.end();
  input.resume();
  await sending;
  expect(sent).toBe(500);
});
