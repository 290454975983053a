// The form of an order link: a second press would make a second order.
const form = document.getElementById('order');
const button = form?.querySelector('button');
form?.addEventListener('submit', () => {
  button.disabled = true;
});
// Also when the payer comes back to it.
window.addEventListener('pageshow', () => {
  if (button) button.disabled = false;
});
