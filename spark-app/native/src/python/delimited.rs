//! `Delimited`, for Python.

use std::sync::{Mutex, MutexGuard, PoisonError};

use arrow_array::{Array, UInt8Array};
use arrow_buffer::{Buffer, ScalarBuffer};
use arrow_pyarrow::ToPyArrow;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use super::binary;

/// Writes the values of one object, each with a delimiter behind it.
#[pyclass(frozen, module = "logpersister_native")]
pub struct Delimited(Mutex<crate::Delimited>);

#[pymethods]
impl Delimited {
    #[new]
    fn new(delimiter: Vec<u8>) -> Self {
        Self(Mutex::new(crate::Delimited::new(delimiter)))
    }

    /// Take in the values of a binary array, without null ones; return what is ready as buffers of Arrow, all of one size.
    ///
    /// Raises TypeError for another array.
    fn add<'py>(&self, py: Python<'py>, values: &Bound<'py, PyAny>) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let values = binary(values)?;
        let whole = py.detach(|| self.lines().add(&values));
        whole.into_iter().map(|block| buffer(py, block)).collect()
    }

    /// Return the rest.
    fn finish<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        self.lines().rest(|bytes| PyBytes::new(py, bytes))
    }
}

impl Delimited {
    fn lines(&self) -> MutexGuard<'_, crate::Delimited> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Return a buffer as one of Python's Arrow, without copying.
fn buffer(py: Python<'_>, block: Buffer) -> PyResult<Bound<'_, PyAny>> {
    let array = UInt8Array::new(ScalarBuffer::from(block), None);
    array.into_data().to_pyarrow(py)?.call_method0("buffers")?.get_item(1)
}
