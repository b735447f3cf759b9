// How each misbehaviour that is a matter of bytes and messages is done. What is a matter of HTTP is in http.ts.
import type { JsonObject, JsonValue } from "../../../../src/base/json/json.js";
import type { MischiefName } from "../cells.js";
import {
  answer,
  type Lab,
  LIST_CHANGED,
  notification,
  pause,
  payload,
  progressOf,
  response,
  type Strike,
  textResult,
} from "./lab.js";

type Act = (strike: Strike, lab: Lab) => Promise<void>;

const DRIP_MS = 10;
const CHUNK: Buffer = Buffer.alloc(65_536, "x");
const MARK = "\u0000HERE\u0000";

/** Nothing moves any more, signals excepted. */
async function freeze(): Promise<void> {
  await pause(50); // what has been said before goes out first
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
}

async function drip(strike: Strike): Promise<void> {
  const text = Buffer.from(JSON.stringify(payload(strike, "d".repeat(strike.id === undefined ? 20 : 10_000))));
  await strike.out.open();
  for (let at = 0; at < text.length && !strike.gone.aborted; at++) {
    await strike.out.raw(text.subarray(at, at + 1));
    await pause(DRIP_MS, strike.gone);
  }
  await strike.out.shut();
}

async function halfFrame(strike: Strike): Promise<void> {
  await writeHalf(strike);
  await pause(50);
  strike.out.cut();
}

async function tornFrame(strike: Strike): Promise<void> {
  await writeHalf(strike);
  await strike.out.shut();
  await answer(strike);
}

async function writeHalf(strike: Strike): Promise<void> {
  const text = JSON.stringify(payload(strike, "half of this is missing"));
  await strike.out.open();
  await strike.out.raw(text.slice(0, text.length / 2));
}

/** Lone continuation bytes, overlong forms, surrogates, half a character at the end. */
async function badUtf8(strike: Strike): Promise<void> {
  const bytes = Buffer.from([0xff, 0xfe, 0xc0, 0xaf, 0xed, 0xa0, 0x80, 0x80, 0xf4, 0x90, 0x80, 0x80, 0xe2, 0x82]);
  await writeAround(strike, JSON.stringify(payload(strike, MARK)), async () => await strike.out.raw(bytes));
  if (strike.phase !== "idle") return;
  await strike.out.open();
  await strike.out.raw(bytes);
  await strike.out.shut();
}

/** Writes a message whose mark is replaced by whatever `middle` writes. */
async function writeAround(strike: Strike, text: string, middle: () => Promise<void>): Promise<void> {
  const [before = "", after = ""] = text.split(JSON.stringify(MARK).slice(1, -1));
  await strike.out.open();
  await strike.out.raw(before);
  await middle();
  await strike.out.raw(after);
  await strike.out.shut();
}

async function pour(strike: Strike, bytes: number): Promise<void> {
  for (let left = bytes; left > 0 && !strike.gone.aborted; left -= CHUNK.length) {
    await strike.out.raw(left < CHUNK.length ? CHUNK.subarray(0, left) : CHUNK);
  }
}

/** The answer itself, or while idle and between progress notices a notice. */
async function longLine(strike: Strike, { settings }: Lab): Promise<void> {
  const isNotice = strike.phase === "stream";
  const message = isNotice ? progressOf(strike.token, 9, MARK) : payload(strike, MARK);
  await writeAround(strike, JSON.stringify(message), () => pour(strike, settings.sizes.longBytes));
  if (isNotice) await answer(strike);
}

async function longGarbage(strike: Strike, { settings }: Lab): Promise<void> {
  await strike.out.open();
  await pour(strike, settings.sizes.longBytes);
  await strike.out.shut();
  await answer(strike);
}

async function bigResult(strike: Strike, { settings }: Lab): Promise<void> {
  const message = payload(strike, MARK);
  await writeAround(strike, JSON.stringify(message), () => pour(strike, settings.sizes.resultBytes));
}

async function fatResult(strike: Strike): Promise<void> {
  const objects = `[${"{},".repeat(4_000_000)}{}]`;
  const whole = strike.id === undefined ? payload(strike, MARK) : response(strike.id, { structuredContent: MARK });
  const [before = "", after = ""] = JSON.stringify(whole).split(JSON.stringify(MARK));
  await strike.out.open();
  await strike.out.raw(before);
  await strike.out.raw(objects);
  await strike.out.raw(after);
  await strike.out.shut();
}

async function stderrFlood(strike: Strike, { settings }: Lab): Promise<void> {
  const line = `${"e".repeat(1_023)}\n`;
  const block = Buffer.from(line.repeat(64));
  for (let left = settings.sizes.stderrBytes; left > 0; left -= block.length) {
    if (!process.stderr.write(block)) await new Promise<void>((resolve) => process.stderr.once("drain", resolve));
  }
  await answer(strike);
}

async function repeated(strike: Strike, messages: number, message: (index: number) => JsonObject): Promise<void> {
  for (let sent = 0; sent < messages && !strike.gone.aborted; sent++) await strike.out.message(message(sent));
}

async function storm(strike: Strike, { settings }: Lab): Promise<void> {
  await repeated(strike, settings.sizes.notices, () => LIST_CHANGED);
  await answer(strike);
}

async function progressFlood(strike: Strike, { settings }: Lab): Promise<void> {
  await repeated(strike, settings.sizes.notices / 3, (index) => progressOf(strike.token, index + 10));
  await answer(strike);
}

/** Ids of requests long answered, never sent, of another type, of no type. */
const STRAY_IDS: readonly JsonValue[] = [0, 1, 2, "1", "2", -1, 99_999, 1.5, 1e308, "nobody", "", null, true, {}, []];

async function strays(strike: Strike): Promise<void> {
  for (const id of STRAY_IDS) {
    if (id === strike.id) continue;
    await strike.out.message({ jsonrpc: "2.0", id, result: textResult("for nobody") });
    // In the answer to a POST an error without an id is meant for that POST: there it is nobody's stray.
    if (id === null && strike.id !== undefined) continue;
    await strike.out.message({ jsonrpc: "2.0", id, error: { code: -1, message: "for nobody" } });
  }
  await strike.out.message({ jsonrpc: "2.0", result: {} });
  await strike.out.message({ jsonrpc: "2.0" });
}

async function duplicateIds(strike: Strike): Promise<void> {
  await strays(strike);
  await answer(strike);
  await answer(strike, textResult("once more"));
  if (strike.id !== undefined) {
    await strike.out.message({ jsonrpc: "2.0", id: strike.id, error: { code: -32_000, message: "and now an error" } });
    await strike.out.message(progressOf(strike.token, 99, "after the end"));
  }
}

async function lateReply(strike: Strike, { settings }: Lab): Promise<void> {
  if (strike.id === undefined) return await strays(strike);
  await pause(settings.deadlineMs + 300);
  await answer(strike, textResult("too late"));
}

/** The runner's other calls are answered meanwhile, by themselves: here the order turns around. */
async function outOfOrder(strike: Strike): Promise<void> {
  await pause(strike.id === undefined ? 0 : 400);
  if (strike.id === undefined) return await strays(strike);
  await answer(strike);
}

async function endlessCursor(strike: Strike, lab: Lab): Promise<void> {
  const schema = { type: "object", properties: { text: { type: "string", description: "d".repeat(500) } } };
  lab.listEndlessly((page) =>
    Array.from({ length: 20 }, (_, n) => ({
      name: `more_${page}_${n}`,
      description: "m".repeat(500),
      inputSchema: schema,
    })),
  );
  await strike.out.message(LIST_CHANGED);
  await pause(300);
  await answer(strike);
}

async function fatList(strike: Strike, lab: Lab): Promise<void> {
  const schema = { type: "object", enum: Array.from({ length: 20_000 }, () => ({})) };
  lab.listEndlessly((page) => [{ name: `fat_${page}`, inputSchema: schema }]);
  await strike.out.message(LIST_CHANGED);
  await pause(300);
  await answer(strike);
}

/** Wherever a schema can hold a pattern, and a value that makes each of them explode. */
const EVIL = ["^(a+)+$", "^(a|aa)+$", "(.*)*b", "^([a-zA-Z]+)*$", "(a|a?)+$", "^(?=(a+)+b)"];
const BAIT = `${"a".repeat(40)}!`;

function evilLists(lab: Lab): void {
  const properties = Object.fromEntries(EVIL.map((pattern, n) => [`p${n}`, { type: "string", pattern }]));
  const patternProperties = Object.fromEntries(EVIL.map((pattern) => [pattern, { type: "string" }]));
  const outputSchema = { type: "object", properties, patternProperties, propertyNames: { pattern: EVIL[0] ?? "" } };
  lab.listSchema({ outputSchema, inputSchema: { type: "object", properties } });
}

async function redosSchema(strike: Strike): Promise<void> {
  await strike.out.message(LIST_CHANGED);
  const structured = Object.fromEntries([...EVIL.map((_, n) => [`p${n}`, BAIT]), [BAIT, BAIT]]);
  await answer(strike, { ...textResult("struck"), structuredContent: structured });
}

const WIDE_NAMES = Array.from({ length: 3_000 }, (_, n) => `property_${n}`);

function wideLists(lab: Lab): void {
  const properties = Object.fromEntries(
    WIDE_NAMES.map((name) => [
      name,
      { anyOf: [{ type: "string", minLength: 1 }, { type: "null" }], description: name },
    ]),
  );
  const schema = { type: "object", properties, required: WIDE_NAMES, additionalProperties: false };
  lab.listSchema({ outputSchema: schema, inputSchema: schema });
  lab.listExtra([{ name: "wide", inputSchema: schema, outputSchema: schema }]);
}

async function wideSchema(strike: Strike): Promise<void> {
  await strike.out.message(LIST_CHANGED);
  const structured = Object.fromEntries(WIDE_NAMES.map((name) => [name, "value"]));
  await answer(strike, { ...textResult("struck"), structuredContent: structured });
}

/** As text, since an object literal would set the prototype instead. */
const POLLUTED: JsonObject = JSON.parse(
  '{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}},"prototype":{"polluted":1},"toString":1,"hasOwnProperty":1,"then":1}',
);
const PROTO_NAMES = ["__proto__", "constructor", "prototype", "toString", "hasOwnProperty", "valueOf", "then"];

function protoLists(lab: Lab): void {
  const schema: JsonObject = JSON.parse(
    '{"type":"object","properties":{"__proto__":{"type":"object"},"constructor":{"type":"object"}},"required":["__proto__"],"$defs":{"__proto__":{"type":"string"}}}',
  );
  lab.listExtra(
    PROTO_NAMES.map((name) => ({ name, inputSchema: schema, outputSchema: schema, annotations: POLLUTED })),
  );
  lab.listSchema({ outputSchema: schema, _meta: POLLUTED });
}

async function protoNames(strike: Strike): Promise<void> {
  await strike.out.message({ ...LIST_CHANGED, params: { _meta: POLLUTED } });
  await strike.out.message(notification("__proto__", { "": POLLUTED }));
  await strike.out.message(response("__proto__", POLLUTED));
  await strike.out.message(progressOf("__proto__", 1));
  await strike.out.message({ jsonrpc: "2.0", id: "__proto__", method: "constructor", params: { _meta: POLLUTED } });
  const blocks = [
    { type: "__proto__", value: POLLUTED },
    { type: "text", text: "struck", annotations: POLLUTED },
  ];
  await answer(strike, { _meta: POLLUTED, structuredContent: POLLUTED, content: blocks });
}

/** What has to be wrong from the beginning: a call is judged by the list that was there when it began. */
export const PREPARATIONS: { readonly [name in MischiefName]?: (lab: Lab) => void } = {
  redos_schema: evilLists,
  wide_schema: wideLists,
  proto_names: protoLists,
};

/** Those that are the same over both transports. */
export const ACTS: { readonly [name in MischiefName]?: Act } = {
  hang: freeze,
  drip,
  half_frame: halfFrame,
  torn_frame: tornFrame,
  torn_body: tornFrame,
  bad_utf8: badUtf8,
  long_line: longLine,
  long_garbage: longGarbage,
  big_result: bigResult,
  fat_result: fatResult,
  stderr_flood: stderrFlood,
  progress_flood: progressFlood,
  storm,
  duplicate_ids: duplicateIds,
  late_reply: lateReply,
  out_of_order: outOfOrder,
  endless_cursor: endlessCursor,
  fat_list: fatList,
  redos_schema: redosSchema,
  wide_schema: wideSchema,
  proto_names: protoNames,
};
