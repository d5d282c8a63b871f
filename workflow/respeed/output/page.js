// A click on a column's heading sorts the rows of each group by it; another one turns the order round.
"use strict";

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
