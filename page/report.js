/* Shows the numbers that a report's page holds. */

show(JSON.parse(document.getElementById('numbers').textContent));
