// Claims as a forest plot, charts, filters, and where a number comes from. All texts of files are data here: they become
// text nodes and values of Vega's data, never markup and never a part of a specification.
"use strict";

const parse = (id) => JSON.parse(document.getElementById(id).textContent);
const unpack = ({ columns, data }) =>
    data.map((values) => Object.fromEntries(columns.map((name, place) => [name, values[place]])));

const { machines, papers, tables, claims, smoke, run, ...packed } = parse("data");
const charts = parse("charts");
const cells = unpack(packed.cells);

// Elements.

const make = (tag, fields = {}, ...children) => {
    const element = Object.assign(document.createElement(tag), fields);
    element.append(...children);
    return element;
};

const draw = (tag, attributes, ...children) => {
    const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    element.append(...children);
    return element;
};

const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

// Numbers.

// Three digits, but all of those before the point.
const format = (value) => (value < 999.5 ? Number(value).toPrecision(3) : Math.round(value).toLocaleString("en"));

// For times below so many seconds: the unit, and its length in seconds; as in respeed.text.
const TIMES = [[1e-3, "µs", 1e-6], [1, "ms", 1e-3], [1000, "s", 1], [6000, "min", 60], [Infinity, "h", 3600]];

const formatTime = (seconds) => {
    const [, unit, length] = TIMES.find(([below]) => seconds < below);
    return `${format(seconds / length)} ${unit}`;
};

// The key of a number, and the words for it. Printed numbers have some of a cell's fields, and no machine.

const tableOf = (number) => tables.find((table) => table.paper === number.paper && table.experiment === number.experiment);
const nameOf = (table) => `${table.paper}/${table.experiment}`;
const caseOf = (number) => (tableOf(number)?.cases.find(([name]) => name === number.case) ?? [0, number.case])[1];
const isSameCase = (one, other) => tableOf(one) === tableOf(other) && one.case === other.case;

// In some tables, the label of a row ends with an algorithm: its shortest label has none.
const labels = new Map();
for (const cell of cells) {
    cell.key = [cell.machine, cell.paper, cell.experiment, cell.case, cell.algorithm, cell.profile].join(" ");
    cell.row = cell.profile;
    cell.rounds = unpack({ columns: packed.rounds, data: cell.rounds });
    if (cell.label.length < (labels.get(cell.row) ?? `${cell.label} `).length) labels.set(cell.row, cell.label);
}

// Each cell names the printed number that it is compared with. Algorithms differ in their work, others do the same.
const printed = new Map();
for (const cell of cells.filter((other) => other.published_seconds)) {
    const row = papers.find((paper) => paper.name === cell.paper).rows.find((other) => other.name === cell.published_row);
    const { paper, experiment, algorithm, published_seconds: seconds } = cell;
    const number = { paper, experiment, case: cell.case, algorithm, seconds, label: row.label, is_cpu: row.is_cpu };
    const counted = tableOf(cell).algorithms.length ? null : cells.find((other) => isSameCase(other, cell) && other.flops);
    number.gflops = counted && counted.flops / seconds / 1e9;
    number.peak_share = number.gflops && row.peak_gflops && number.gflops / row.peak_gflops;
    number.row = `${paper}:${row.name}`;
    number.key = [number.row, experiment, cell.case, algorithm].join(" ");
    labels.set(number.row, `${row.label}, published`);
    printed.set(number.key, number);
}
const published = [...printed.values()];
const byKey = new Map([...cells, ...published].map((number) => [number.key, number]));

const theirGpu = (number) =>
    Math.min(
        ...published
            .filter((other) => !other.is_cpu && isSameCase(other, number))
            .map((other) => other.seconds),
    );

// By measure: what turns a time of the number's work into the measure, or nothing if that is not known; and the words.
const MEASURES = {
    "": { title: "seconds", convert: () => (seconds) => seconds, note: "Left is faster." },
    gflops: {
        title: "GFLOP/s",
        convert: (number) => number.gflops && ((seconds) => (number.gflops * number.seconds) / seconds),
        note: "Right is faster.",
    },
    times: {
        title: "times as fast as the paper's GPU",
        convert: (number) => Number.isFinite(theirGpu(number)) && ((seconds) => theirGpu(number) / seconds),
        note: "Right is faster. Tables for which the paper prints no GPU's number have no chart.",
    },
    share: {
        title: "share of the peak, %",
        convert: (number) => number.peak_share && ((seconds) => (100 * number.peak_share * number.seconds) / seconds),
        note: "Ours is a share of the highest rate that a bare product reached on the row, the paper's of its data sheet: do not compare one with the other.",
    },
};

// What is shown: the part of the address after #.

let state = new URLSearchParams();
const hiddenRows = () => (state.get("hide") || "").split(" ").filter(Boolean);

const isShown = (number) =>
    (!state.get("paper") || state.get("paper") === number.paper) &&
    (!state.get("machine") || !number.machine || state.get("machine") === number.machine);

const isOfTable = (number) => !state.get("table") || state.get("table") === nameOf(number);
const isTableShown = (table) => isShown(table) && isOfTable(table);

const change = (name, value) => {
    if (value) state.set(name, value);
    else state.delete(name);
    // In a frame whose document has no address of its own, a browser may refuse: then the state is on the page alone.
    try {
        history.replaceState(null, "", `${location.href.split("#")[0]}#${state}`);
    } catch {}
    if (name === "pin") showPane();
    else show();
};

// An address of another run's page may name what is not here.
const CHOICES = {
    paper: papers.map((paper) => paper.name),
    table: tables.map(nameOf),
    machine: machines.map(([name]) => name),
    measure: Object.keys(MEASURES),
};

const readAddress = () => {
    state = new URLSearchParams(location.hash.slice(1));
    for (const [name, values] of Object.entries(CHOICES)) if (!values.includes(state.get(name))) state.delete(name);
    show();
};

// Charts, drawn when they come into view.

const PALETTE = 8;
const SHAPES = ["circle", "diamond", "triangle-up", "cross", "triangle-down"];
const ours = [...new Set(cells.filter((cell) => cell.seconds).map((cell) => cell.row))];
const colourOf = (number) =>
    number.machine ? `row-${ours.indexOf(number.row) % PALETTE}` : number.is_cpu ? "their-cpu" : "their-gpu";

const waiting = new Map();
const watcher = new IntersectionObserver(
    (entries) => entries.filter((entry) => entry.isIntersecting).forEach((entry) => drawWaiting(entry.target)),
    { rootMargin: "400px" },
);
const drawWaiting = (box) => {
    watcher.unobserve(box);
    waiting.get(box)?.();
    waiting.delete(box);
};
addEventListener("beforeprint", () => {
    [...waiting.keys()].forEach(drawWaiting);
    for (const fold of document.querySelectorAll("details")) fold.open = true;
});

const plot = (box, spec, points, height) => {
    spec.height = height;
    box.style.minHeight = `${height + 24}px`;
    const theme = {
        background: "transparent",
        view: { stroke: null },
        font: "system-ui, sans-serif",
        axis: {
            gridColor: colour("line"), tickColor: colour("line"), domainColor: colour("line"),
            labelColor: colour("text"), titleColor: colour("text"), titleFontWeight: "normal",
            labelFontSize: 12, titleFontSize: 12, labelLimit: innerWidth < 640 ? 160 : 260,
        },
    };
    waiting.set(box, async () => {
        box.view?.finalize();
        const options = { ast: true, actions: false, renderer: "svg", tooltip: false, config: theme };
        const data = { name: "points", values: points };
        const { view } = await vegaEmbed(box, { ...spec, data }, options);
        box.view = view;
        view.addEventListener("click", (_, item) => item?.datum?.key && change("pin", item.datum.key));
        view.addEventListener("mousemove", (event, item) => hint(event, byKey.get(item?.datum?.key)));
        view.addEventListener("mouseout", () => hint());
    });
    watcher.unobserve(box);
    watcher.observe(box);
};

const pointsOf = (table, numbers) => {
    const measure = MEASURES[state.get("measure") || ""];
    const shown = numbers.filter((number) => !hiddenRows().includes(number.row));
    const rows = [...new Set(shown.map((number) => `${number.row} ${number.machine}`))];
    return shown.flatMap((number) => {
        const convert = measure.convert(number);
        if (!convert) return [];
        const ends = [number.seconds_low ?? number.seconds, number.seconds_high ?? number.seconds].map(convert);
        const order = table.cases.findIndex(([name]) => name === number.case);
        const program = table.algorithms.findIndex(([name]) => name === number.algorithm);
        const by = program < 0 ? "" : `, ${table.algorithms[program][1]}`;
        return {
            key: number.key,
            place: `${table.cases[order]?.[1] ?? number.case}${by}`,
            order: order + program / 100,
            lane: rows.indexOf(`${number.row} ${number.machine}`),
            series: `${number.row} ${number.machine} ${program}`,
            value: convert(number.seconds),
            low: Math.min(...ends),
            high: Math.max(...ends),
            colour: colour(colourOf(number)),
            // Hollow: a number of ours without an interval.
            fill: colour(number.machine && !number.seconds_low ? "page" : colourOf(number)),
            says: `${number.label}, ${caseOf(number)}: ${formatTime(number.seconds)}`,
            shape: number.machine ? SHAPES[machines.findIndex(([name]) => name === number.machine) % SHAPES.length] : "square",
        };
    });
};

// The rows of a table, each with a box that hides it everywhere.
const showLegend = (box, numbers) => {
    const rows = new Map(numbers.map((number) => [number.row, number]));
    box.hidden = rows.size < 2;
    const there = [...box.querySelectorAll("input")];
    if (there.map((input) => input.value).join() !== [...rows.keys()].join()) {
        const entries = [...rows].map(([row, number]) => {
            const mark = make("span", { textContent: number.machine ? "●" : "■" });
            mark.style.color = `var(--${colourOf(number)})`;
            return make("label", {}, make("input", { type: "checkbox", value: row }), mark, labels.get(row));
        });
        box.replaceChildren(...entries);
    }
    for (const input of box.querySelectorAll("input")) input.checked = !hiddenRows().includes(input.value);
};

addEventListener("change", ({ target }) => {
    if (!target.closest(".legend")) return;
    const others = hiddenRows().filter((row) => row !== target.value);
    change("hide", (target.checked ? others : [...others, target.value]).join(" "));
});

const showChart = (section, table) => {
    const box = section.querySelector(".chart");
    const numbers = [...published, ...cells].filter(
        (number) => number.seconds && tableOf(number) === table && isShown(number),
    );
    showLegend(section.querySelector(".legend"), numbers);
    const points = pointsOf(table, numbers);
    box.hidden = !points.length;
    if (box.hidden) return;
    const spec = structuredClone(charts.numbers);
    const lanes = new Set(points.map((point) => point.lane)).size;
    const height = Math.max(24, 9 * lanes + 6) * new Set(points.map((point) => point.place)).size;
    const works = new Set(cells.filter((cell) => tableOf(cell) === table && cell.seconds).map((cell) => cell.work));
    const measure = state.get("measure") || "";
    const of = !measure && works.size === 1 ? ` for ${[...works][0]}` : "";
    spec.encoding.x.axis.title = `${MEASURES[measure].title}${of}`;
    plot(box, spec, points, height);
};

// Claims.

const LOOKS = {
    reproduced: ["●", "good"],
    "weakly reproduced": ["◐", "good"],
    larger: ["▲", "larger"],
    smaller: ["▼", "smaller"],
    "trend not reproduced": ["◆", "smaller"],
    "not fair here": ["◇", "open"],
};
const lookOf = (claim) => LOOKS[claim.verdict] ?? ["○", "open"];

const showClaims = (section) => {
    const box = section.querySelector(".claims");
    for (const forest of box.querySelectorAll(".forest")) {
        watcher.unobserve(forest);
        waiting.delete(forest);
        forest.view?.finalize();
    }
    const shown = claims.filter((claim) => claim.paper === section.dataset.paper && isShown(claim) && isOfTable(claim));
    const made = machines.flatMap(([machine, words]) => {
        const list = showMachine(shown.filter((claim) => claim.machine === machine));
        return machines.length > 1 && list.length ? [make("h3", { textContent: words }), ...list] : list;
    });
    const text = "Ours is a dot with its interval from low to high, the paper's a grey bar; a hollow dot has no interval.";
    if (made.some((element) => element.querySelector(".forest") || element.matches(".forest"))) made.unshift(make("p", { className: "note key", textContent: text }));
    box.replaceChildren(...made, ...box.querySelectorAll(".note:not(.key)"));
};

// A claim's cases have a forest of their own; claims of one number each share one; those without a number stay in the page's notes.
const showMachine = (here) => {
    const whole = here.filter((claim) => !claim.case && claim.here);
    const partsOf = (claim) => here.filter((part) => part.claim === claim.claim && part.case && part.speedup);
    const single = whole.filter((claim) => claim.speedup && !partsOf(claim).length);
    const list = single.length ? [showForest(single, (claim) => tableOf(claim)?.title ?? claim.claim)] : [];
    const drawn = new Set();
    for (const claim of whole) {
        const article = describeClaim(claim);
        const parts = partsOf(claim);
        const numbers = JSON.stringify(parts.map((part) => [part.case, part.speedup]));
        // A claim about a trend is about the numbers of another claim.
        if (parts.length && !drawn.has(numbers)) article.append(showForest(parts, caseOf));
        drawn.add(numbers);
        list.push(article);
    }
    return list;
};

const describeClaim = (claim) => {
    const [mark, look] = lookOf(claim);
    const verdict = make("b", { className: `verdict ${look}`, textContent: `${mark} ${claim.verdict}` });
    const numbers = [claim.published && `published ${claim.published}`, claim.here && `here ${claim.here}`];
    const rows = [claim.profile, claim.base_profile].filter(Boolean).map((row) => labels.get(row) ?? row);
    const remarks = [rows.join(" over "), claim.reason, claim.doubt];
    return make(
        "article",
        { className: look },
        make("p", { textContent: claim.says }),
        make("p", {}, verdict, ` ${numbers.filter(Boolean).join(", ")}`),
        make("small", { textContent: remarks.filter(Boolean).join("; ") }),
    );
};

const showForest = (parts, nameOfPart) => {
    const points = parts.flatMap((part, order) => {
        // Rows of several programs may have one profile: then it is not known which of them the number is of.
        const fitting = cells.filter((other) =>
            other.seconds && ["machine", "paper", "experiment", "profile"].every((name) => other[name] === part[name]) &&
            (!part.case || other.case === part.case),
        );
        const cell = fitting.length === 1 ? fitting[0] : undefined;
        const [mark, look] = lookOf(part);
        const place = { place: nameOfPart(part), order, theirs: colour("text") };
        const point = {
            ...place,
            key: cell?.key,
            value: part.speedup,
            low: part.speedup_low ?? part.speedup,
            high: part.speedup_high ?? part.speedup,
            published: part.published_low,
            colour: colour(look),
            fill: colour(part.speedup_low ? look : "page"),
            says: `${part.here} ${mark} ${part.verdict}`,
        };
        return part.published_high === part.published_low ? [point] : [point, { ...place, published: part.published_high }];
    });
    const box = make("div", { className: "forest" });
    plot(box, { ...charts.claims }, points, 42 * parts.length);
    return box;
};

// A number: hints while the pointer is on it, and the pane that a click pins.

const titleOf = (number) => `${tableOf(number).title}, ${caseOf(number)}`;

const factsOf = (number) => {
    const facts = [];
    const [seconds, low, high] = [number.seconds, number.seconds_low, number.seconds_high];
    const span = low ? ` (${formatTime(low)} to ${formatTime(high)})` : number.machine ? ", without an interval" : "";
    if (seconds) facts.push(`${formatTime(seconds)}${number.work ? ` for ${number.work}` : ""}${span}`);
    if (number.gflops) facts.push(`${format(number.gflops)} GFLOP/s`);
    if (number.peak_share) {
        const whose = number.machine ? "the rate that a bare product reached here" : "its data sheet's peak";
        facts.push(`${format(100 * number.peak_share)} % of ${whose}`);
    }
    const times = seconds && number.machine && MEASURES.times.convert(number);
    if (times) facts.push(`${format(times(seconds))} times as fast as the paper's GPU`);
    if (number.expected_seconds && seconds) {
        const least = formatTime(number.expected_seconds);
        facts.push(`${format(seconds / number.expected_seconds)} times the ${least} that FLOP and bytes need here`);
    }
    facts.push([number.status, number.reason].filter(Boolean).join(": "), number.unexpected);
    return make("ul", {}, ...facts.filter(Boolean).map((fact) => make("li", { textContent: fact })));
};

// A line for each round: a full dot as corrected to the quiet probe, a ring as measured, grey where no block counts.
const strip = (number) => {
    const times = number.rounds.flatMap((round) => [round.step_seconds, round.step_seconds_measured]).filter(Boolean);
    const [least, most] = [Math.min(...times), Math.max(...times)];
    const step = Math.max(3, Math.min(13, 180 / number.rounds.length));
    const across = (seconds) => 10 + (most > least ? (130 * (seconds - least)) / (most - least) : 65);
    const lines = number.rounds.map((round, place) => {
        const y = step * (place + 0.5);
        const cause = step < 9 ? "" : [round.reason, round.causes].filter(Boolean).join("; ");
        const words = draw("text", { x: 155, y: y + 4, class: "discarded" }, cause);
        if (!round.step_seconds) {
            return draw("g", {}, draw("path", { d: `M7 ${y - 3}l6 6m0 -6l-6 6`, class: "discarded" }), words);
        }
        const [corrected, measured] = [across(round.step_seconds), across(round.step_seconds_measured)];
        return draw(
            "g",
            {},
            draw("path", { d: `M${corrected} ${y}H${measured}`, class: "join" }),
            draw("circle", { cx: measured, cy: y, r: 3.5, class: "measured" }),
            draw("circle", { cx: corrected, cy: y, r: 3, class: "corrected" }),
            words,
        );
    });
    const height = Math.ceil(step * number.rounds.length) + 2;
    const svg = draw("svg", { viewBox: `0 0 330 ${height}`, width: 330, height, role: "img" }, ...lines);
    const range = times.length ? `, ${formatTime(least)} to ${formatTime(most)} a step` : "";
    const grey = number.rounds.some((round) => round.discarded) ? "; grey: blocks that do not count, and why" : "";
    const text = `Rounds from top to bottom${range}. ● at the quiet probe, ○ as measured${grey}.`;
    return make("figure", { className: "strip" }, svg, make("figcaption", { textContent: text }));
};

const hintBox = document.getElementById("hint");
const hint = (event, number) => {
    hintBox.hidden = !number;
    if (!number) return;
    const where = number.machine ?? papers.find((paper) => paper.name === number.paper).reference;
    const title = make("b", { textContent: `${number.label}: ${titleOf(number)}` });
    hintBox.replaceChildren(title, make("div", { textContent: where }), factsOf(number));
    if (number.rounds?.length) hintBox.append(strip(number));
    const { width, height } = hintBox.getBoundingClientRect();
    const [right, below] = [innerWidth - width - 8, innerHeight - height - 8];
    hintBox.style.left = `${Math.max(8, Math.min(event.clientX + 16, right))}px`;
    const top = event.clientY + 16 > below ? event.clientY - height - 16 : event.clientY + 16;
    hintBox.style.top = `${Math.max(8, top)}px`;
};

const commandsOf = (cell) => {
    const place = `${cell.paper}/${cell.experiment}/${cell.case} ${cell.profile} --machine ${cell.machine}`;
    const trace = `${run}respeed trace ${place}${smoke ? " --smoke" : ""}`;
    return [cell.rounds.length || cell.seconds ? trace : "", cell.command].filter(Boolean).join("\n");
};

const ROUND = {
    Round: (round) => round.round,
    Session: (round) => round.session,
    "Started (UTC)": (round) => round.started.slice(0, 16).replace("T", " "),
    "As measured": (round) => (round.step_seconds_measured ? formatTime(round.step_seconds_measured) : "–"),
    "At the quiet probe": (round) => (round.step_seconds ? formatTime(round.step_seconds) : "–"),
    Blocks: (round) => `${round.blocks - round.discarded} of ${round.blocks}`,
    "Discarded for": (round) => [round.reason, round.causes].filter(Boolean).join("; "),
    "Record and line": (round) => round.record,
};

const pane = document.getElementById("pane");
const showPane = () => {
    const number = byKey.get(state.get("pin"));
    for (const button of document.querySelectorAll("[data-cell]"))
        button.classList.toggle("pinned", button.dataset.cell === state.get("pin"));
    pane.hidden = !number;
    if (!number) return;
    const close = make("button", { type: "button", className: "close", textContent: "× close", title: "Esc closes it too" });
    close.addEventListener("click", () => change("pin"));
    const where = number.machine ? `${number.label} on ${number.machine}` : `${number.label}, as published`;
    pane.replaceChildren(close, make("h2", { textContent: titleOf(number) }), make("p", { textContent: where }), factsOf(number));
    if (number.machine) pane.append(make("pre", { textContent: commandsOf(number) }));
    if (!number.rounds?.length) return;
    const names = Object.keys(ROUND).map((name) => make("th", { textContent: name }));
    const lines = number.rounds.map((round) =>
        make(
            "tr",
            { className: round.step_seconds ? "" : "discarded" },
            ...Object.values(ROUND).map((write) => make("td", { textContent: write(round) })),
        ),
    );
    const table = make("table", {}, make("thead", {}, make("tr", {}, ...names)), make("tbody", {}, ...lines));
    pane.append(strip(number), make("div", { className: "scroll" }, table));
};

addEventListener("keydown", (event) => event.key === "Escape" && state.has("pin") && change("pin"));
document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-cell]");
    if (button) change("pin", button.dataset.cell);
});

// Filters.

const filters = document.getElementById("filters");
filters.hidden = false;

const fill = (name, all, options) => {
    const select = filters.querySelector(`[name=${name}]`);
    select.replaceChildren(...[["", all], ...options].map(([value, text]) => make("option", { value, textContent: text })));
    select.value = state.get(name) || "";
    select.parentElement.hidden = options.length < 2;
};

filters.addEventListener("change", ({ target }) => {
    // A table is one of its paper's: another paper takes it back.
    if (target.name === "paper") state.delete("table");
    change(target.name, target.value);
});

const show = () => {
    const chosen = tables.filter(isTableShown);
    fill("paper", "all", papers.map((paper) => [paper.name, paper.reference]));
    fill("machine", "all", machines);
    const listed = tables.filter((table) => document.querySelector(`[data-table="${CSS.escape(nameOf(table))}"]`));
    const ofPaper = listed.filter((table) => (state.get("paper") || table.paper) === table.paper);
    fill("table", "all", ofPaper.map((table) => [nameOf(table), table.title]));
    const measure = state.get("measure") || "";
    for (const input of filters.querySelectorAll("[name=measure]")) input.checked = input.value === measure;
    const shapes = machines.length > 1 ? machines.map(([name], place) => `${"●◆▲✚▼"[place % 5]} ${name}`).join(", ") : "";
    const how = document.getElementById("how");
    how.hidden = false;
    how.textContent = [
        MEASURES[measure].note,
        "Bars are 95 % intervals; a hollow mark has none. Point at a mark to see its rounds; click on it, or on a number of ours, to pin its commands and records.",
        shapes && `Machines: ${shapes}.`,
    ].filter(Boolean).join(" ");
    for (const section of document.querySelectorAll("section.paper")) {
        section.hidden = !chosen.some((table) => table.paper === section.dataset.paper);
        section.classList.toggle("brief", state.has("table"));
        if (!section.hidden) showClaims(section);
    }
    for (const section of document.querySelectorAll("section.table")) {
        const table = chosen.find((other) => nameOf(other) === section.dataset.table);
        section.hidden = !table;
        if (!table) continue;
        showChart(section, table);
        for (const line of section.querySelectorAll("tr")) {
            const cell = byKey.get(line.querySelector("[data-cell]")?.dataset.cell);
            line.hidden = Boolean(cell) && (!isShown(cell) || hiddenRows().includes(cell.row));
        }
        for (const body of section.querySelectorAll("tbody")) {
            const lines = [...body.rows].filter((line) => line.querySelector("[data-cell]"));
            body.hidden = lines.length > 0 && lines.every((line) => line.hidden);
        }
    }
    showPane();
};

// A click on a column's heading sorts the rows of each group by it; another one turns the order round.

// A column may have times in several units.
const LENGTHS = { "µs": 1e-6, ms: 1e-3, s: 1, min: 60, h: 3600 };

const key = (row, column) => {
    const cell = row.cells[column];
    const text = cell ? (cell.querySelector("[data-sort]") || cell).textContent.trim() : "";
    const number = Number.parseFloat(text.replaceAll(",", "")) * (LENGTHS[text.split(" ")[1]] || 1);
    return { text, number: Number.isNaN(number) ? Infinity : number };
};

const compare = (left, right) =>
    left.number === right.number ? left.text.localeCompare(right.text) : left.number - right.number;

for (const button of document.querySelectorAll("thead button")) {
    button.addEventListener("click", () => {
        const heading = button.closest("th");
        const falling = heading.getAttribute("aria-sort") === "ascending";
        for (const other of heading.parentElement.cells) other.removeAttribute("aria-sort");
        heading.setAttribute("aria-sort", falling ? "descending" : "ascending");
        for (const body of heading.closest("table").tBodies) {
            const named = [...body.rows].filter((row) => !row.querySelector("th[scope=rowgroup]"));
            const rows = named.map((row) => [key(row, heading.cellIndex), row]);
            rows.sort(([left], [right]) => {
                // A row with an empty field in the column stays last, in either order.
                if (!left.text || !right.text) return !left.text - !right.text;
                return falling ? compare(right, left) : compare(left, right);
            });
            body.append(...rows.map(([, row]) => row));
        }
    });
}

addEventListener("hashchange", readAddress);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", show);
readAddress();
