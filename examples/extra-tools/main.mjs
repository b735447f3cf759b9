// A program that gives a session two tools: notes that it keeps, and a timer with progress that can be cancelled.
// Start it beside an editor with `tenon acp --gateway`: node main.mjs [LABEL]. Without a label it joins the session of this folder used last.
import { once } from "node:events";
import { setTimeout as delay } from "node:timers/promises";
import { connectGateway } from "tenon/gateway";

const notes = [];

const note = {
  title: "Keep a note",
  description: "Keeps a note for the person, and gives all notes so far.",
  inputSchema: { type: "object", properties: { text: { type: "string" } }, required: ["text"] },
  run: ({ text }) => {
    notes.push(String(text));
    return { content: [{ type: "text", text: notes.join("\n") }], structuredContent: { notes } };
  },
};

const timer = {
  title: "Wait",
  description: "Waits for some seconds.",
  inputSchema: { type: "object", properties: { seconds: { type: "number" } }, required: ["seconds"] },
  run: async ({ seconds }, { signal, progress }) => {
    const total = Number(seconds);
    for (let gone = 0; gone < total; gone++) {
      progress(gone, total, `${total - gone} s left`);
      await delay(1_000, undefined, { signal }); // rejects when the person cancels
    }
    return `${total} s are over`;
  },
};

const [label] = process.argv.slice(2);
const cwd = process.cwd();
const gateway = await connectGateway({ name: "notes" });
const session = await gateway.join(label === undefined ? { latest: true, cwd } : { label, cwd });
const { tools, rejected } = await session.setTools({ note, timer }, "notes");
console.log(`session ${session.id}: ${tools.map(({ offeredAs }) => offeredAs).join(", ")}`);
for (const { name, reason } of rejected) console.error(`${name}: ${reason}`);
session.gone.addEventListener("abort", () => console.log(`The session is left: ${session.gone.reason.message}`));
await once(process, "SIGINT");
await gateway.close();
