// The page that `tenon trace` writes: the waterfall of one recorded run, from the data that the file itself holds.
import { render } from "preact";
import { Empty } from "./parts/basics.js";
import { type SpanGroup, spanGroupsOf } from "./waterfall/spans.js";
import { Waterfall } from "./waterfall/waterfall.js";
import { parse, withVisibleText } from "./wire/json.js";
import "./style.css";

function TracePage({ groups }: { readonly groups: readonly SpanGroup[] }) {
  const ends = groups.flatMap(({ endMs, spans }) => [endMs ?? 0, ...spans.map((span) => span.endMs ?? span.startMs)]);
  return (
    <main class="main">
      <section class="view" aria-label="Trace">
        <header class="view-head">
          <h1>{document.title}</h1>
        </header>
        {groups.length === 0 ? (
          <Empty title="Nothing was recorded" />
        ) : (
          <Waterfall groups={groups} nowMs={Math.max(0, ...ends)} />
        )}
      </section>
    </main>
  );
}

const root = document.getElementById("page");
const data = parse(document.getElementById("data")?.textContent ?? "");
if (root) render(<TracePage groups={spanGroupsOf(withVisibleText(data ?? null))} />, root);
