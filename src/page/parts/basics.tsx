// Small parts that every view is made of: times, states, buttons, long texts by page.
import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect } from "preact/hooks";
import { markHidden } from "../../base/text/marking.js";
import type { Part } from "../model/parts.js";
import { entryOf, messageOf, written } from "../wire/json.js";
import { Diff } from "./diff.js";

const STATES: Readonly<Record<string, string>> = {
  running: "go",
  ready: "go",
  completed: "ok",
  done: "ok",
  idle: "calm",
  resting: "calm",
  pending: "calm",
  in_progress: "go",
  connecting: "go",
  waiting: "ask",
  reconnecting: "ask",
  unknown: "ask",
  failed: "bad",
  closed: "calm",
};

export function Badge({ state, label = state }: { readonly state: string; readonly label?: string }) {
  return <span class={`badge ${entryOf(STATES, state) ?? "calm"}`}>{label.replaceAll("_", " ")}</span>;
}

export function Empty({ title, children }: { readonly title: string; readonly children?: ComponentChildren }) {
  return (
    <div class="empty">
      <p class="empty-title">{title}</p>
      {children}
    </div>
  );
}

const STEPS: readonly (readonly [number, string])[] = [
  [60, "s"],
  [60, "min"],
  [24, "h"],
  [365, "d"],
];

/** "4 min": rounded down, at least nothing. */
function shortTime(ms: number): string {
  let value = Math.max(0, Math.floor(ms / 1000));
  for (const [size, unit] of STEPS) {
    if (value < size) return `${value} ${unit}`;
    value = Math.floor(value / size);
  }
  return `${value} y`;
}

export function duration(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  return ms < 60_000 ? `${(ms / 1_000).toFixed(ms < 10_000 ? 2 : 1)} s` : shortTime(ms);
}

/** How long ago, counted on while it is shown. */
export function Ago({ at }: { readonly at: number }) {
  const now = useSignal(Date.now());
  useEffect(() => {
    const timer = setInterval(() => (now.value = Date.now()), 15_000);
    return () => clearInterval(timer);
  }, []);
  if (at === 0) return null;
  return <time title={new Date(at).toLocaleString()}>{shortTime(Math.max(0, now.value - at))} ago</time>;
}

export function money(usd: number | undefined): string {
  if (usd === undefined) return "";
  return usd === 0 ? "$0" : usd < 0.01 ? "<$0.01" : `$${usd.toFixed(2)}`;
}

export function count(value: number): string {
  return value >= 1_000_000
    ? `${(value / 1e6).toFixed(1)}M`
    : value >= 10_000
      ? `${Math.round(value / 1e3)}k`
      : value.toLocaleString("en");
}

/** The end of a path says most. */
export function Folder({ path }: { readonly path: string }) {
  const shown = markHidden(path);
  return (
    <span class="folder" title={shown}>
      <bdi>{shown}</bdi>
    </span>
  );
}

const PAGE_CHARS = 6_000;

/** A long text by page: results can have megabytes. */
export function Pages({ text, label }: { readonly text: string; readonly label: string }) {
  const page = useSignal(0);
  const pages = Math.max(1, Math.ceil(text.length / PAGE_CHARS));
  const at = Math.min(page.value, pages - 1);
  return (
    <div class="pages">
      <pre class="code" aria-label={label} tabIndex={0}>
        {text.slice(at * PAGE_CHARS, (at + 1) * PAGE_CHARS)}
      </pre>
      {pages > 1 && (
        <div class="pager">
          <button type="button" class="small" disabled={at === 0} onClick={() => (page.value = at - 1)}>
            Previous
          </button>
          <span>
            page {at + 1} of {pages}
          </span>
          <button type="button" class="small" disabled={at === pages - 1} onClick={() => (page.value = at + 1)}>
            Next
          </button>
        </div>
      )}
    </div>
  );
}

export function Json({ value, label }: { readonly value: unknown; readonly label: string }) {
  return <Pages text={written(value)} label={label} />;
}

export function PartView({ part }: { readonly part: Part }) {
  switch (part.kind) {
    case "text":
      return <Pages text={part.text} label="text" />;
    case "diff":
      return <Diff path={part.path} before={part.before} after={part.after} />;
    case "image":
      return <img class="picture" src={`data:${part.mimeType};base64,${part.data}`} alt="from a tool or a person" />;
    case "link":
      return (
        <p class="resource">
          {part.name} <span class="muted">{part.uri}</span>
        </p>
      );
  }
}

/** The state of something that is asked for once, and again when `key` changes. */
export function useLoaded<T>(
  load: () => Promise<T>,
  key: unknown,
): { readonly value?: T; readonly problem?: string; readonly reload: () => void } {
  const state = useSignal<{ readonly value?: T; readonly problem?: string }>({});
  const turn = useSignal(0);
  useEffect(() => {
    let isCurrent = true;
    load()
      .then((value) => {
        if (isCurrent) state.value = { value };
      })
      .catch((error: unknown) => {
        if (isCurrent) state.value = { problem: messageOf(error) };
      });
    return () => {
      isCurrent = false;
    };
  }, [key, turn.value]);
  return { ...state.value, reload: () => (turn.value += 1) };
}
