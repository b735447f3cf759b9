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
