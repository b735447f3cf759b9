// `tenon trace FILE -o page.html`: the waterfall of a recorded run, or of a journal, as one file that needs nothing else.
import { createHash } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import { basename, resolve } from "node:path";
import { messageOf, TenonError } from "../../../base/errors.js";
import { isJsonObject, type JsonObject, parseJson } from "../../../base/json/json.js";
import { markHidden } from "../../../base/text/marking.js";
import { type SpanGroup, spansOfRecords, spansOfTrace } from "../../../page/index.js";
import type { Run, Values } from "../../command.js";
import { report, warn } from "../../context.js";
import { EXIT } from "../../exit.js";
import { visible } from "../../terminal/text.js";
import { readRecording, readText, runNumber } from "./recording.js";

/** Beside the chunks of the command line. */
const FOLDER = new URL("../trace-page/", import.meta.url);

export const runTrace: Run<Values<"json", "run" | "output">> = async ({ values, words }, context) => {
  const [path = ""] = words;
  const text = await readText(resolve(context.cwd, path));
  const groups = readGroups(text, runNumber(values.run), (words) => warn(context, words));
  const target = resolve(context.cwd, values.output ?? `${basename(path).replace(/\.ndjson$/u, "")}.html`);
  const [script, style] = await Promise.all(
    ["trace.js", "trace.css"].map((name) => readFile(new URL(name, FOLDER), "utf8")),
  );
  const html = tracePage(`Trace of ${basename(path)}`, groups, { script: script ?? "", style: style ?? "" });
  try {
    await writeFile(target, html, { mode: 0o600 });
  } catch (error) {
    throw new TenonError("usage.invalid", `${target} cannot be written: ${messageOf(error)}`, { cause: error });
  }
  const spans = groups.reduce((sum, group) => sum + group.spans.length, 0);
  report(context, values.json, { file: target, groups: groups.length, spans }, [
    `${visible(target)}: ${groups.length} ${groups.length === 1 ? "group" : "groups"}, ${spans} calls`,
  ]);
  return EXIT.done;
};

function readGroups(text: string, run: number | undefined, tell: (words: string) => void): readonly SpanGroup[] {
  const [first = ""] = text.split("\n", 1);
  const head = parseJson(first);
  const isJournal =
    head.ok && isJsonObject(head.value) && head.value["v"] === 1 && typeof head.value["cwd"] === "string";
  if (isJournal) return journalGroups(text, tell);
  const recording = readRecording(text, run);
  if (recording.isTorn) tell("its last line is torn: the process was killed while it wrote it");
  return spansOfTrace(recording.entries);
}

/** Records that were written again after a failure of the disk are taken once. */
function journalGroups(text: string, tell: (words: string) => void): readonly SpanGroup[] {
  const records: JsonObject[] = [];
  const blobs = new Map<string, string>();
  let [seq, skipped] = [0, 0];
  for (const line of text.split("\n").slice(1)) {
    if (line.trim() === "") continue;
    const parsed = parseJson(line);
    const record = parsed.ok && isJsonObject(parsed.value) ? parsed.value : undefined;
    const number = record?.["seq"];
    if (!record || typeof number !== "number") skipped += record?.["again"] === undefined ? 1 : 0;
    else if (number > seq) {
      seq = number;
      const { blob, data } = record;
      if (typeof blob === "string" && typeof data === "string") blobs.set(blob, data);
      else records.push(record);
    }
  }
  if (skipped > 0) tell(`${skipped} lines of it are no records, and are left out`);
  return spansOfRecords(records, blobs);
}

/**
 * Everything is in the file: no request leaves it, and only this script and this style run in it. In the data every `<` is
 * escaped, so that no text of a server ends the element it stands in.
 */
export function tracePage(
  title: string,
  groups: readonly SpanGroup[],
  { script, style }: { readonly script: string; readonly style: string },
): string {
  const sha = (text: string) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;
  if (/<\/(?:script|style)/iu.test(script + style))
    throw new TenonError("internal", "the page's own files end their element");
  const policy = `default-src 'none'; script-src ${sha(script)}; style-src ${sha(style)}; img-src data:; base-uri 'none'; form-action 'none'`;
  const data = JSON.stringify(groups).replaceAll("<", "\\u003c");
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<title>${escaped(markHidden(title))}</title>
<style>${style}</style>
</head>
<body>
<div id="page"></div>
<script type="application/json" id="data">${data}</script>
<script>${script}</script>
</body>
</html>
`;
}

function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
